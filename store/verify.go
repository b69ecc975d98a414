package store

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/longhaul-rl/longhaul/rl"
)

// Report is what Verify found.
type Report struct {
	Objects int     `json:"objects"` // read and checked, shared chunks once
	Bytes   int64   `json:"bytes"`
	Faults  []Fault `json:"faults"` // in the order of their keys
}

// readers is how many objects Verify reads at once.
const readers = 8

// verification is a Verify in progress.
type verification struct {
	store *Store
	run   rl.RunID

	mu     sync.Mutex
	report Report
	sums   map[string]string      // sha256 of every object that was read, by key
	refs   []reference            // to be held against sums once all is read
	files  map[string]*neededFile // by content
	chunks map[string]bool        // counted already
}

// reference is a Ref and the object that holds it.
type reference struct {
	rl.Ref
	by string
}

// Verify reads everything of a run and checks it: every record decodes and lies where it belongs, every checkpoint,
// update result and pointer refers to what is there (or, a checkpoint, was retired by gc), every chunk has its hash. Faults are in the report. The error
// is for what kept it from looking: NotFound when there is no such run, else Refused and Unavailable as Get.
func (s *Store) Verify(ctx context.Context, run rl.RunID) (Report, error) {
	v := &verification{store: s, run: run, sums: map[string]string{}, files: map[string]*neededFile{}, chunks: map[string]bool{}}
	for _, step := range []func(context.Context) error{v.records, v.jobs, v.references, v.contents} {
		if err := step(ctx); err != nil {
			return Report{}, err
		}
	}
	slices.SortStableFunc(v.report.Faults, func(a, b Fault) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.Why, b.Why))
	})
	return v.report, nil
}

// records reads every object under the run's prefix.
func (v *verification) records(ctx context.Context) error {
	keys, err := v.store.keys(ctx, RunPrefix(v.run))
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		return rl.Errorf(rl.NotFound, at(RunPrefix(v.run)), "there is no run %q", v.run)
	}
	return each(len(keys), readers, func(i int) error {
		return v.read(ctx, keys[i], func(body []byte) error {
			for _, f := range forms {
				if ok, _ := path.Match(f.pattern, strings.TrimPrefix(keys[i], RunPrefix(v.run))); ok {
					return f.check(v, keys[i], body)
				}
			}
			return nil
		})
	})
}

// read reads an object and checks it. What is wrong with it is a fault; the error is for not reaching it.
func (v *verification) read(ctx context.Context, key string, check func(body []byte) error) error {
	body, err := v.store.Get(ctx, key)
	if err != nil && !damaged(err) {
		return err
	}
	if err == nil {
		v.count(key, body)
		err = check(body)
	}
	if err != nil {
		v.fault(fault(key, err))
	}
	return nil
}

func (v *verification) count(key string, body []byte) {
	sum := SHA256(body)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sums[key] = sum
	v.report.Objects++
	v.report.Bytes += int64(len(body))
}

func (v *verification) fault(f Fault) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.report.Faults = append(v.report.Faults, f)
}

// refer notes that the object `by` refers to others.
func (v *verification) refer(by string, refs ...*rl.Ref) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, r := range refs {
		if r != nil {
			v.refs = append(v.refs, reference{*r, by})
		}
	}
}

// references checks that what is referred to is there and is what was meant.
func (v *verification) references(ctx context.Context) error {
	return each(len(v.refs), readers, func(i int) error {
		r := v.refs[i]
		switch sum, read := v.sums[r.Key]; {
		case !read: // of another run (a fork's parent), retired, or missing
			_, err := v.store.GetRef(ctx, r.Ref)
			if rl.KindOf(err) == rl.NotFound {
				was, ok, readErr := v.store.retired(ctx, r.Key)
				if readErr != nil {
					return readErr
				}
				if ok && was.Manifest == r.Ref {
					return nil
				}
			}
			if damaged(err) {
				f := fault(r.Key, err)
				v.fault(Fault{f.Key, f.Why + "; " + r.by + " refers to it"})
			} else if err != nil {
				return err
			}
		case sum != r.SHA256:
			v.fault(Fault{r.Key, "its sha256 is " + sum[:12] + ", but " + r.by + " refers to " + short(r.SHA256)})
		}
		return nil
	})
}

// short is the beginning of a hash, enough to tell it from another.
func short(sum string) string { return sum[:min(12, len(sum))] }

// keys lists the keys under prefix.
func (s *Store) keys(ctx context.Context, prefix string) (keys []string, err error) {
	for o, err := range s.List(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		keys = append(keys, o.Key)
	}
	return keys, nil
}
