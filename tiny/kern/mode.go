package kern

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// The instruction sets. Which of them run here is found out at start, see Modes.
const (
	AVX512   = "avx512"
	AVX2     = "avx2"
	NEON     = "neon"
	Portable = "portable"
)

// Variable names the environment variable that forces an instruction set: avx512, avx2, neon or portable.
const Variable = "LONGHAUL_KERNEL"

type instructions uint8

const (
	portable instructions = iota
	avx512
	avx2
	neon
)

var (
	names = map[string]instructions{AVX512: avx512, AVX2: avx2, NEON: neon, Portable: portable}

	current    string
	active     instructions // of current
	refusedEnv error
)

func init() { start(os.Getenv(Variable)) }

// start chooses the forced set when it can, else the fastest.
func start(forced string) {
	refusedEnv = nil
	best := Modes()[0]
	if forced == "" {
		forced = best
	}
	if err := SetMode(forced); err != nil {
		refusedEnv = fmt.Errorf("%s: %w", Variable, err)
		current, active = best, names[best]
	}
}

// Modes lists the instruction sets that run on this machine, fastest first; the last is always Portable.
func Modes() []string { return append(detect(), Portable) }

// Mode is the instruction set in use. The error says why LONGHAUL_KERNEL could not be followed, when it was
// set to a name that is unknown or does not run here; the fastest set is in use then, with the same results, for
// callers that go on. longhaul's commands do not: they refuse the setting.
func Mode() (string, error) { return current, refusedEnv }

// SetMode chooses an instruction set by name. It must not run beside Gemm or Exp. It fails, and changes
// nothing, for a name that is unknown or that this machine does not run.
func SetMode(name string) error {
	if _, ok := names[name]; !ok {
		return fmt.Errorf("kernel %q is unknown: want avx512, avx2, neon or portable", name)
	}
	if have := Modes(); !slices.Contains(have, name) {
		return fmt.Errorf("kernel %q does not run on this machine: it has %s", name, strings.Join(have, ", "))
	}
	current, active = name, names[name]
	return nil
}
