//go:build unix

package launch

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/longhaul-rl/longhaul/rl"
)

// attend is the shell that stays with an attempt: it notes its own number, which is the process group's, and how the
// attempt ended, each in one step. A job whose number cannot be noted (the disk is full) could not be cancelled: it is not
// begun. A signal to the group is the job's to answer; the shell waits for it. In the end it takes along what the job may have
// left of itself, and itself.
const attend = `echo $$ >pid.new && mv pid.new pid || exit 75
trap : TERM INT HUP
"$@"
code=$?
echo $code >exit.new && mv exit.new exit
kill -KILL 0`

// start starts an attempt, which inherits the lock. What earlier ones have left of themselves is ended first.
func (l *local) start(d localdir, job Job, attempt int, lock *os.File) error {
	python, err := l.interpreter()
	if err != nil {
		return err
	}
	killAll("LONGHAUL_OWNER=" + l.named(d))
	if err := os.Mkdir(d.file(attempt, ""), 0o700); err != nil {
		return d.failed(err)
	}
	log, err := os.OpenFile(d.file(attempt, "log.txt"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return d.failed(err)
	}
	defer log.Close()
	cmd := exec.Command("/bin/sh", "-c", attend, "longhaul-job", python, "-m", "longhaul_trainer")
	cmd.Dir, cmd.Stdout, cmd.Stderr = d.file(attempt, ""), log, log
	cmd.ExtraFiles = []*os.File{lock}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Env = append(l.environ(job), "LONGHAUL_OWNER="+l.named(d), "LONGHAUL_ATTEMPT="+strconv.Itoa(attempt))
	if err := cmd.Start(); err != nil {
		return rl.Errorf(rl.Refused, d.at(), "it cannot be started: %w", err)
	}
	go cmd.Wait() // while this process lives it leaves no zombie
	return nil
}

// named is the owner of a job's claim: two attempts of it cannot run at once.
func (l *local) named(d localdir) string { return l.owner + ":" + string(d) }

// interpreter finds the Python, since a job has a working directory of its own. Error: Refused.
func (l *local) interpreter() (string, error) {
	python, err := exec.LookPath(l.python)
	if err == nil {
		python, err = filepath.Abs(python)
	}
	if err != nil {
		return "", rl.Errorf(rl.Refused, "update.local.python", "it cannot be run: %w", err)
	}
	return python, nil
}

// environ is this process's environment, without what by its name is a secret of others (the judge's key, the policy servers'), and
// what the job is told. AWS's credentials it needs; where the store is one that nothing outside may redirect, the environment's own
// way to S3 is left out.
func (l *local) environ(job Job) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, "AWS_") {
			return len(l.secret) > 0
		}
		return secretName.MatchString(name)
	})
	for _, more := range []map[string]string{job.Env, l.secret} {
		for _, name := range slices.Sorted(maps.Keys(more)) {
			env = append(env, name+"="+more[name])
		}
	}
	if os.Getenv("LONGHAUL_WORK_DIR") == "" { // what a job has read spares the next one reading it
		env = append(env, "LONGHAUL_WORK_DIR="+filepath.Join(l.dir, "work"))
	}
	return env
}

// secretName knows variables that hold secrets: OPENAI_API_KEY, HF_TOKEN, DB_PASSWORD. TOKENIZERS_PARALLELISM is none.
var secretName = regexp.MustCompile(`(?i)(KEY|TOKEN|SECRETS?|PASSWORD|PASSWD|CREDENTIALS?)$`)
