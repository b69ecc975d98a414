package gateway

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/longhaul-rl/longhaul/child"
	"github.com/longhaul-rl/longhaul/rl"
)

// digest is what the world is made of: the tasks, and what is done with them, which are the files that the two commands name.
func digest(tasks []byte, c rl.AgentConfig) (string, error) {
	h := sha256.New()
	h.Write(tasks)
	for _, line := range []string{c.Command, c.Check} {
		words, _ := child.Words(line) // none of no check
		for i, word := range words {
			sum, err := named(word, c.Directory, i == 0)
			if err != nil {
				return "", err
			}
			if sum != nil {
				fmt.Fprintf(h, "%q %x\n", word, sum)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// named is the sha256 of the file that a word of a command names, nil where it names none. A program is one only where it is a script:
// workers may have interpreters of their own.
func named(word, dir string, program bool) ([]byte, error) {
	if !filepath.IsAbs(word) {
		if dir == "" { // it is looked for in the episode's directory, which begins empty
			return nil, nil
		}
		word = filepath.Join(dir, word)
	}
	if info, err := os.Stat(word); err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	f, err := os.Open(word)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	if begins, _ := r.Peek(2); program && string(begins) != "#!" {
		return nil, nil
	}
	h := sha256.New()
	_, err = io.Copy(h, r)
	return h.Sum(nil), err
}
