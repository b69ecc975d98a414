package process

import (
	"context"
	"crypto/sha256"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/rollout"
)

// shipped are the worlds of examples/process, and what an agent may do in them besides the right thing.
var shipped = []struct {
	name, program, python string // the environment that scripts/worlds.sh makes; empty: any Python
	detour                []rl.Message
}{
	{"number", "number.py", "", []rl.Message{calling(`guess {"number":0}`), calling(`guess {"nomber":0}`), {Role: rl.Assistant, Content: "hm"}}},
	{"reasoning_gym", "reasoning_gym_world.py --dataset leg_counting,chain_sum,basic_arithmetic,spell_backward", "reasoning_gym", []rl.Message{{Role: rl.Assistant, Content: "<answer>17</answer>"}, {Role: rl.Assistant, Content: "17"}}},
	{"textworld", "textworld_world.py --levels 1-6", "textworld", []rl.Message{calling(`act {"command":"look"}`), calling(`act {"command":"go north"}`), calling(`act {"command":"go east"}`), calling(`act {"command":"fly"}`), calling(`act {}`)}},
	{"tau2", "tau2_world.py", "tau2", []rl.Message{calling(`list_all_product_types {}`), calling(`calculate {"expression":"9**9**9**9"}`), calling(`get_order_details {"order_id":"#W0"}`),
		calling(`modify_user_address {"user_id":"yusuf_rossi_9620","address1":"1 A Street","address2":"","city":"B","state":"CA","country":"USA","zip":"1"}`)}},
}

const episodes = 100

// commandOf is how a shipped world is started here; empty, with a reason: not.
func commandOf(program, python string) (command, why string) {
	interpreter := "python3"
	if python != "" {
		interpreter = filepath.Join(os.Getenv("LONGHAUL_TEST_WORLDS"), python, "bin/python")
		if _, err := os.Stat(interpreter); err != nil {
			return "", "without scripts/worlds.sh " + python + " (make test-worlds has it)"
		}
	}
	return "exec " + interpreter + " ../../examples/process/" + program, ""
}

// A hundred episodes of each world are the same twice, whatever runs beside them, and when the program is killed on the way; and
// every reference is worth 1 to the benchmark's own checker.
func TestShippedWorlds(t *testing.T) {
	for _, s := range shipped {
		t.Run(s.name, func(t *testing.T) {
			command, why := commandOf(s.program, s.python)
			if why != "" {
				t.Skip(why)
			}
			config := the(command, 2, 4)
			config.Process.StartTimeout = rl.Duration(5 * time.Minute)
			w, inside := opened(t, config)
			var plays []func([]rl.Message) rl.Message
			for i := range episodes {
				plays = append(plays, w.Reference(w.Task(rl.Train, i%w.Count(rl.Train))))
			}
			began := time.Now()
			first := played(t, w, inside, plays, s.detour, false)
			took := time.Since(began)
			for i, again := range played(t, w, inside, plays, s.detour, true) {
				if string(again) != string(first[i]) {
					t.Fatalf("killed and resumed, it is\n%s\nnot\n%s", again, first[i])
				}
			}
			if n := referees(t, w); n < episodes {
				t.Errorf("%d references were played", n)
			}
			t.Logf("digest %.6x of %d episodes, %s each", sha256.Sum256(slices.Concat(first...)), episodes, (took / episodes).Round(time.Millisecond))
		})
	}
}

// played is the trajectories of the first tasks. Killing ends the program of about every tenth episode at one of its
// turns, and goes on from the journal.
func played(t *testing.T, w envs.World, inside *world, plays []func([]rl.Message) rl.Message, detour []rl.Message, killing bool) [][]byte {
	t.Helper()
	trajectories, scores := make([][]byte, episodes), make([]float64, episodes)
	var wg sync.WaitGroup
	gate := make(chan struct{}, cap(inside.pool.places))
	for i := range episodes {
		gate <- struct{}{}
		wg.Go(func() {
			defer func() { <-gate }()
			e := &trial{w: w, inside: inside, task: w.Task(rl.Train, i%w.Count(rl.Train)), seed: uint64(i), at: -1}
			e.client = scripted(plays[i], detour, e.seed)
			if rng := rand.New(rand.NewPCG(e.seed, 8)); killing && rng.IntN(10) == 0 {
				e.at = rng.IntN(3)
			}
			done, err := e.play(t.Context())
			if err != nil {
				t.Errorf("%s: %v", e.task.ID, err)
				return
			}
			trajectories[i], scores[i] = rl.CanonicalJSON(done), done.Outcome.Value
		})
	}
	wg.Wait()
	if slices.Max(scores) != 1 {
		t.Errorf("nobody wins: %v", scores)
	}
	return trajectories
}

// trial is an episode that is resumed until it is through.
type trial struct {
	w      envs.World
	inside *world
	client *policy.Client
	task   rl.Task
	seed   uint64
	at     int // the turn at which a program is killed; -1: none
}

func (e *trial) play(ctx context.Context) (*rl.Trajectory, error) {
	var journal []rl.Recorded
	for try := 1; ; try++ {
		played := e.w.New()
		done, err := rollout.Run(ctx, played, e.client, rollout.Options{
			Episode: rl.EpisodeID{Run: "r", Update: 1, Task: e.task.ID, Member: int(e.seed)}, Task: e.task, Model: "r@000000", Version: "r@000000",
			MaxTokens: 64, MaxTurns: 40, TurnTimeout: time.Minute, Seed: e.seed, Training: true, Recorded: slices.Clone(journal),
			Record: func(_ context.Context, r rl.Recorded) error {
				journal = append(journal, r)
				if len(journal)-1 == e.at {
					e.at = -1
					played.(*env).place.child.Kill()
				}
				return nil
			},
		})
		played.Close()
		// Others are in the same program, and may have killed it.
		if rl.KindOf(err) != rl.Unavailable || !strings.Contains(err.Error(), "signal: killed") || try == 10 {
			return done, err
		}
	}
}

// referees plays the reference of each task of both splits, a hundred at most, which is worth 1.
func referees(t *testing.T, w envs.World) (n int) {
	t.Helper()
	for _, split := range []rl.Split{rl.Train, rl.Eval} {
		for i := range min(episodes, w.Count(split)) {
			e := &trial{w: w, task: w.Task(split, i), at: -1}
			e.client = scripted(w.Reference(e.task), nil, 0)
			done, err := e.play(t.Context())
			if err != nil || done.Outcome.Value != 1 || done.Stop != rl.Answered {
				t.Fatalf("%s: %v, %+v", e.task.ID, err, done)
			}
			n++
		}
	}
	return n
}
