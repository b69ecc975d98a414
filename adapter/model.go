package adapter

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/longhaul-rl/longhaul/safetensors"
)

// weights is one open file of tensors.
type weights struct {
	file    *os.File
	tensors []safetensors.Place
}

// read is a tensor's elements as float32.
func (w weights) read(t safetensors.Place) ([]float32, error) {
	b := make([]byte, t.To-t.From)
	if _, err := w.file.ReadAt(b, t.From); err != nil {
		return nil, err
	}
	return decode(t.DType, b)
}

// model is the open weight files of a directory, by name.
type model map[string]weights

func open(dir string) (m model, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.safetensors"))
	m = model{}
	for _, name := range names {
		var w weights
		if w, err = openWeights(name); err != nil {
			break
		}
		m[filepath.Base(name)] = w
	}
	if err != nil {
		m.close()
	}
	return m, err
}

func openWeights(path string) (w weights, err error) {
	if w.file, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
		return w, err
	}
	info, err := w.file.Stat()
	if err == nil {
		_, w.tensors, err = safetensors.Index(w.file, info.Size())
	}
	if err != nil {
		return w, errors.Join(fmt.Errorf("%s: %w", filepath.Base(path), err), w.file.Close())
	}
	return w, nil
}

func (m model) close() {
	for _, w := range m {
		w.file.Close()
	}
}

func (m model) sync() (err error) {
	for _, w := range m {
		err = errors.Join(err, w.file.Sync())
	}
	return err
}

// find is the file and the place of the model's weight.
func (m model) find(name string) (weights, safetensors.Place, error) {
	for file, w := range m {
		for _, t := range w.tensors {
			if t.Name == name && file != WeightsFile {
				return w, t, nil
			}
		}
	}
	return weights{}, safetensors.Place{}, errors.New("the model has no such weight")
}

// add writes W + s B A over W.
func (m model) add(factors weights, p pair, s float32) error {
	in, at, err := m.find(p.name)
	if err != nil {
		return err
	}
	if len(at.Shape) != 2 || at.Shape[0] != p.b.Shape[0] || at.Shape[1] != p.a.Shape[1] {
		return fmt.Errorf("its shape is %v; the factors make [%d, %d]", at.Shape, p.b.Shape[0], p.a.Shape[1])
	}
	var w, a, b []float32
	for _, r := range []struct {
		from weights
		t    safetensors.Place
		to   *[]float32
	}{{in, at, &w}, {factors, p.a, &a}, {factors, p.b, &b}} {
		if *r.to, err = r.from.read(r.t); err != nil {
			return err
		}
	}
	addProduct(w, b, a, at.Shape[0], at.Shape[1], s)
	body, err := encode(at.DType, w)
	if err == nil {
		_, err = in.file.WriteAt(body, at.From)
	}
	return err
}

// addProduct adds s b a to w, which is [rows, columns]. Each element is summed in one order, whatever the threads.
func addProduct(w, b, a []float32, rows, columns int, s float32) {
	rank := len(a) / max(1, columns)
	threads := runtime.GOMAXPROCS(0)
	var all sync.WaitGroup
	for t := range threads {
		all.Go(func() {
			change := make([]float32, columns)
			for i := t; i < rows; i += threads {
				clear(change)
				for k := range rank {
					x := b[i*rank+k]
					for j, y := range a[k*columns : (k+1)*columns] {
						change[j] += float32(x * y)
					}
				}
				for j, c := range change {
					w[i*columns+j] += float32(s * c)
				}
			}
		})
	}
	all.Wait()
}
