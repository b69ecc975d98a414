package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

// Whatever is typed in the place of an id, it is a place or a usage error.
func FuzzAddress(f *testing.F) {
	for _, s := range []string{"orders-1", "orders-1/12/train-17/3", "orders-1@best", "orders-1@40/ab12/eval-7/sampled", "a//", "@", "a/1/t/-1", "a/99999999999999999999", "a@latest/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		at, err := parseAddress(s)
		if err != nil {
			if exitCode(t.Context(), err) != exitUsage {
				t.Error(err)
			}
			return
		}
		if !at.run.Valid() || at.update < 0 || at.member < 0 || at.depth < 0 || at.depth > 3 {
			t.Errorf("%q is %+v", s, at)
		}
	})
}

// Whatever a file of tasks holds, it is a list of different indices, or an error that names the file.
func FuzzIndices(f *testing.F) {
	for _, s := range []string{"100003\n100004 # a hard one\n\n", "1\n1", "-1", "", "#", "1\r\n2\r\n", "99999999999999999999", "\xff"} {
		f.Add([]byte(s))
	}
	file := filepath.Join(f.TempDir(), "tasks.txt")
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := readIndices(file)
		if err != nil {
			if rl.KindOf(err) != rl.Invalid {
				t.Error(err)
			}
			return
		}
		slices.Sort(all)
		if len(all) == 0 || all[0] < 0 || len(slices.Compact(all)) != len(all) {
			t.Errorf("%q is %v", b, all)
		}
	})
}
