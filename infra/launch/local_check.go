//go:build unix

package launch

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// Check asks the interpreter whether it has the trainer, without importing it, which takes seconds.
func (l *local) Check(ctx context.Context) []Finding {
	f := Finding{Name: "update jobs, local", Mend: "install trainer/ there, or name the interpreter that has it in update.local.python"}
	const ask = "import sys, importlib.util as u; print(sys.version.split()[0]); sys.exit(u.find_spec('longhaul_trainer') is None)"
	out, err := exec.CommandContext(ctx, l.python, "-c", ask).CombinedOutput()
	said := strings.TrimSpace(string(out))
	switch {
	case err == nil:
		f.Found = fmt.Sprintf("%s (Python %s) has longhaul_trainer", l.python, said)
	case said == "":
		f.Err = rl.Errorf(rl.Invalid, f.Name, "%s cannot be asked: %w", l.python, err)
	default:
		f.Err = rl.Errorf(rl.Invalid, f.Name, "%s has no longhaul_trainer (Python %s)", l.python, said)
	}
	return []Finding{f}
}
