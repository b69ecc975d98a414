package longhaul_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/longhaul-rl/longhaul"

// rooms are the packages, and for each the packages of ours that it may import. Data walks one way, and so do
// imports: a row only names rows above it. Tests may import more, since they use real parts.
var rooms = []struct {
	name string
	may  []string
	why  string
}{
	{"rl", nil, "the vocabulary is at the bottom: everybody speaks it, it knows nobody"},
	{"safetensors", nil, "a file format needs no vocabulary"},
	{"adapter", []string{"safetensors"}, "arithmetic on files of weights; whose they are does not matter"},
	{"inprocess", nil, "it carries any http.Handler"},
	{"jsonscan", nil, "it reads any JSON of an expected form"},
	{"endpoint", []string{"rl"}, "it carries requests to a server of the OpenAI API; what is asked is the caller's"},
	{"advantage", []string{"rl"}, "estimators are pure functions of scores"},
	{"config", []string{"rl"}, "run.yaml is read before anything it names is built"},
	{"envs", []string{"rl"}, "an environment knows tasks and tools; who plays it and what is learnt from it is not its business"},
	{"child", []string{"rl"}, "it starts processes and ends them; what they are for is the caller's"},
	{"envs/code", []string{"envs", "rl"}, "a kind of environment is reached by its name in run.yaml, and knows no other kind"},
	{"envs/mcp", []string{"child", "envs", "rl"}, "as envs/code; it starts its servers"},
	{"envs/openenv", []string{"child", "envs", "rl"}, "as envs/code; child knows what is secret"},
	{"envs/sqlite", []string{"envs", "rl"}, "as envs/code"},
	{"envs/process", []string{"child", "envs", "rl"}, "a program is met by its protocol; what it simulates is its own business"},
	{"policy", []string{"endpoint", "jsonscan", "rl"}, "a policy server is any server that speaks the protocol: the embedded one is not special"},
	{"reward", []string{"endpoint", "rl"}, "a reward sees what is recorded, so that it can be computed again later"},
	{"store", []string{"config", "rl", "safetensors"}, "the store keeps bytes under keys, and reads what it kept: a configuration of an older version with today's defaults"},
	{"tiny/kern", nil, "arithmetic on slices"},
	{"tiny/nn", []string{"safetensors", "tiny/kern"}, "a network knows token ids and numbers, no tasks"},
	{"tiny", []string{"jsonscan", "rl", "safetensors", "tiny/kern", "tiny/nn"}, "the embedded policy is reached by its protocol, and knows no environment"},
	{"tokenizer", []string{"rl"}, "text becomes token ids and comes back; what a conversation is, others know"},
	{"tinker", []string{"adapter", "endpoint", "rl", "tokenizer"}, "a service that holds weights is met by its protocol; what is learnt and why is not its business"},
	{"rollout", []string{"endpoint", "envs", "policy", "rl"}, "the loop turns an environment and a policy into a trajectory, and is usable without the rest"},
	{"propose", []string{"endpoint", "envs", "envs/mcp", "policy", "reward", "rl", "rollout"}, "it has models write and try tasks; what is learnt from them is not its business"},
	{"gateway", []string{"child", "endpoint", "envs", "policy", "rl", "rollout"}, "an agent's episode is a rollout whose loop is the agent's own"},
	{"infra/dev/s3", []string{"rl"}, "the embedded server speaks S3 to anybody; it must not know our keys"},
	{"infra/dev", []string{"infra/dev/s3", "inprocess", "rl"}, "it starts outside parts; what runs on them comes from above"},
	{"infra/faults", []string{"inprocess"}, "it stands between any client and any server of HTTP, and only tests use it"},
	{"infra/simjudge", []string{"envs", "rl"}, "it knows of a judge's prompt what any judge does, its text, and of a task what its environment says"},
	{"infra/simtinker", []string{"safetensors"}, "it knows of a Tinker service its protocol, and only tests use it"},
	{"infra/launch", []string{"rl"}, "it starts processes by name; what they compute is between them and the store"},
	{"activities", []string{"adapter", "advantage", "config", "endpoint", "envs", "gateway", "infra/launch", "inprocess", "policy", "reward", "rl", "rollout", "safetensors", "store", "tinker", "tiny", "tiny/nn"},
		"an activity brings the stages' own packages together; which one runs when is the workflows' decision"},
	{"workflows", []string{"activities", "rl"}, "a workflow decides by references and counters alone: whatever it imports, it may not call, since replay must repeat it"},
	{"workers", []string{"activities", "config", "rl", "store", "workflows"}, "a worker registers what is below; it takes its servers as addresses, embedded or not"},
	{"scripts/tinker", []string{"adapter", "safetensors", "tinker"}, "it drives a real service, and the binary from outside"},
	{"scripts/shop", nil, "it writes the shop's tasks as anybody could"},
	{"scripts/curves", nil, "it measures the binary from outside, as anybody could"},
	{"cmd/longhaul/render", []string{"rl"}, "text is made of recorded values, so that it can be tested on canned ones"},
	{"cmd/longhaul", []string{"activities", "adapter", "advantage", "child", "cmd/longhaul/render", "config", "endpoint", "envs", "envs/code", "envs/mcp", "envs/openenv", "envs/process", "envs/sqlite", "infra/dev", "infra/dev/s3", "infra/launch", "infra/simjudge", "inprocess", "policy", "propose", "reward", "rl", "rollout",
		"safetensors", "store", "tinker", "tiny", "tiny/kern", "tiny/nn", "workers", "workflows"}, "the command is at the top: nobody imports it"},
}

// bans are the packages from outside, or from deep inside, that few may import. A trailing slash means "and below".
var bans = []struct {
	pkg  string
	only []string // rooms that may
	why  string
}{
	{"go.temporal.io/server/", []string{"infra/dev"}, "the server is some 1,000 packages whose internals change with each release; everybody else meets it as an address"},
	{"github.com/temporalio/ui-server/", []string{"infra/dev"}, "as the server"},
	{"go.temporal.io/sdk/", []string{"activities", "workflows", "workers", "infra/dev", "cmd/longhaul"}, "stages' own packages work without Temporal, in a test or in somebody's script"},
	{"go.temporal.io/api/", []string{"activities", "workflows", "workers", "infra/dev", "cmd/longhaul"}, "as the SDK"},
	{"github.com/aws/", []string{"store", "infra/launch"}, "conditional writes, checksums and retries are settled in one place"},
	{"k8s.io/", []string{"infra/launch"}, "a cluster is one of the places where jobs run; nobody else knows which"},
	{"github.com/rclone/gofakes3", []string{"infra/dev/s3"}, "the embedded S3 server is met by its protocol"},
	{"modernc.org/sqlite", []string{"envs/sqlite"}, "as bbolt: SQLite is a kind of world here, no place to keep state"},
	{"go.etcd.io/bbolt", []string{"infra/dev/s3"}, "state has two homes, the store and Temporal; a third would need its own recovery"},
	{"github.com/sashabaranov/go-openai", []string{"policy", "reward", "gateway", "cmd/longhaul"}, "one place speaks to model servers (the benchmark holds a bare loop against it)"},
	{"github.com/goccy/go-yaml", []string{"config"}, "run.yaml is read in one way, strictly"},
	{"github.com/spf13/cobra", []string{"cmd/longhaul"}, "only the command has a command line"},
	{"golang.org/x/term", []string{"cmd/longhaul", "cmd/longhaul/render"}, "only the command has a terminal"},
	{"github.com/coder/websocket", []string{"envs/openenv"}, "only servers of OpenEnv are met by a WebSocket"},
	{"github.com/tetratelabs/wazero/", []string{"envs/code"}, "WebAssembly is how one sandbox is made; nobody else runs what a model wrote"},
	{"github.com/modelcontextprotocol/go-sdk/", []string{"envs/mcp"}, "MCP is spoken in one place, which knows what its servers do wrong"},
	{"github.com/google/jsonschema-go/", []string{"envs/mcp"}, "as the SDK that brings it"},
	{"math/rand", nil, "its global generator is not seeded by rl.Seed; use math/rand/v2 with a source of your own where bits matter"},
	{"testing", nil, "what is shipped carries no test code"},
	{"net/http/httptest", nil, "what is shipped carries no test code"},
	{module + "/tiny/nn", []string{"tiny", "activities", "cmd/longhaul"}, "weights are changed by the update stage alone (the benchmark measures the same code)"},
}

// standardOnly are the rooms that import nothing from outside Go's standard library.
var standardOnly = []string{"rl", "endpoint", "safetensors", "inprocess", "jsonscan", "advantage", "envs", "envs/process", "rollout"}

// pkg is what `go list` says about one package.
type pkg struct {
	ImportPath, Name string
	Imports          []string
	Standard         bool
}

// graph is every package that ours depend on, tests excepted, by import path.
var graph = sync.OnceValues(func() (map[string]pkg, error) {
	list := exec.Command("go", "list", "-deps", "-json=ImportPath,Name,Imports,Standard", "./...")
	out, err := list.Output()
	if err != nil {
		return nil, err
	}
	all := map[string]pkg{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all[p.ImportPath] = p
	}
})

// ours calls f for each tracked package of the module with its room.
func ours(t *testing.T, f func(room string, p pkg)) {
	t.Helper()
	all, err := graph()
	if err != nil {
		t.Fatal(err)
	}
	dirs := map[string]bool{}
	for _, file := range tracked(t, ".go") {
		dirs[path.Dir(file)] = true
	}
	for _, p := range all {
		if room, ok := strings.CutPrefix(p.ImportPath, module+"/"); ok && dirs[room] {
			f(room, p)
		}
	}
}

func TestImportsPointDown(t *testing.T) {
	ours(t, func(name string, p pkg) {
		i := slices.IndexFunc(rooms, func(r struct {
			name string
			may  []string
			why  string
		}) bool {
			return r.name == name
		})
		if i < 0 {
			t.Errorf("package %s has no row in arch_test.go: say there what it may import and why", name)
			return
		}
		for _, imported := range p.Imports {
			if other, ok := strings.CutPrefix(imported, module+"/"); ok && !slices.Contains(rooms[i].may, other) {
				t.Errorf("%s imports %s: %s", name, other, rooms[i].why)
			}
		}
	})
}

func TestTheTableItselfPointsDown(t *testing.T) {
	above := map[string]bool{}
	for _, r := range rooms {
		for _, m := range r.may {
			if !above[m] {
				t.Errorf("the row of %s allows %s, which stands below it or nowhere", r.name, m)
			}
		}
		above[r.name] = true
	}
}

func TestBannedImports(t *testing.T) {
	ours(t, func(room string, p pkg) {
		for _, imported := range p.Imports {
			for _, b := range bans {
				hit := imported == strings.TrimSuffix(b.pkg, "/") || strings.HasSuffix(b.pkg, "/") && strings.HasPrefix(imported, b.pkg)
				if hit && !slices.Contains(b.only, room) {
					t.Errorf("%s imports %s: %s", room, imported, b.why)
				}
			}
			if slices.Contains(standardOnly, room) && strings.Contains(strings.Split(imported, "/")[0], ".") && !strings.HasPrefix(imported, module) {
				t.Errorf("%s imports %s: it stays on the standard library, so that anybody can build on it", room, imported)
			}
		}
	})
}

// A worker for an external cluster, and a workflow's replay, must not link the server: not through anybody.
func TestWorkflowsAndWorkersDoNotReachTheServer(t *testing.T) {
	all, err := graph()
	if err != nil {
		t.Fatal(err)
	}
	for _, room := range []string{"workflows", "activities", "workers"} {
		via := map[string]string{module + "/" + room: ""}
		for todo := []string{module + "/" + room}; len(todo) > 0; todo = todo[1:] {
			if strings.HasPrefix(todo[0], "go.temporal.io/server") {
				t.Errorf("%s reaches %s through %s: it would link the whole server", room, todo[0], via[todo[0]])
				break
			}
			for _, next := range all[todo[0]].Imports {
				if _, seen := via[next]; !seen && !all[next].Standard {
					via[next] = todo[0]
					todo = append(todo, next)
				}
			}
		}
	}
}

func TestPackagesAreNamedAfterWhatTheyHold(t *testing.T) {
	vague := []string{"util", "utils", "common", "helper", "helpers", "model", "models", "type", "types", "interfaces", "mock", "mocks", "base", "shared", "lib", "pkg"}
	ours(t, func(room string, p pkg) {
		if slices.Contains(vague, p.Name) || slices.Contains(vague, path.Base(room)) {
			t.Errorf("package %s: the name does not say what belongs in it", room)
		}
	})
}
