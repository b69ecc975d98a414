package store_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// trajectory is an episode of some turns.
func trajectory(e rl.EpisodeID, turns int) *rl.Trajectory {
	t := &rl.Trajectory{
		Schema: rl.TrajectorySchema, Episode: e, Task: rl.Task{ID: e.Task, Env: "orders", Split: rl.Train},
		Policy: rl.PolicySpan{First: rl.VersionOf(e.Run, e.Update-1), Last: rl.VersionOf(e.Run, e.Update-1)},
		Stop:   rl.Answered, Outcome: rl.Score{Value: 1},
	}
	for i := range turns {
		t.Turns = append(t.Turns, rl.Turn{
			Observation: rl.Observation{Messages: []rl.Message{{Role: rl.ToolRole, Content: "box <7> & é"}}},
			Action: rl.Action{
				Message: rl.Message{Role: rl.Assistant, ToolCalls: []rl.ToolCall{{Name: "find_order", Arguments: json.RawMessage(`{"n":12345678901234567890,"x":1.0,"s":"a<b"}`)}}},
				Version: t.Policy.First, Seed: rl.Seed(1, i), Finish: "tool_calls", Prompt: []int32{1, 2, 3}, Tokens: []int32{4, 5}, LogProbs: []float32{-.25, -1e-7},
			},
		})
	}
	return t
}

func trajectories(t *testing.T, s *store.Store) {
	e := rl.EpisodeID{Run: "a", Update: 3, Task: "train/7", Member: 2}
	key := store.TrajectoryKey(e)
	if want := "runs/a/updates/00000003/groups/train%2F7/episodes/2/trajectory.json.zst"; key != want {
		t.Errorf("key %s, want %s", key, want)
	}
	_, err := s.Trajectory(t.Context(), key)
	is(t, err, rl.NotFound)
	first := trajectory(e, 2)
	if got := must[*rl.Trajectory](t)(s.PutTrajectory(t.Context(), key, first)); !reflect.DeepEqual(got, first) {
		t.Errorf("recorded %+v", got)
	}
	if got := must[*rl.Trajectory](t)(s.PutTrajectory(t.Context(), key, trajectory(e, 5))); !reflect.DeepEqual(got, first) {
		t.Errorf("a second writer was told %d turns", len(got.Turns))
	}
	if got := must[*rl.Trajectory](t)(s.Trajectory(t.Context(), key)); !reflect.DeepEqual(got, first) {
		t.Errorf("read back as %+v", got)
	}
}

func TestTrajectoryDecode(t *testing.T) {
	valid := must[[]byte](t)(store.EncodeTrajectory(trajectory(rl.EpisodeID{Run: "a"}, 1)))
	if again := must[[]byte](t)(store.EncodeTrajectory(trajectory(rl.EpisodeID{Run: "a"}, 1))); !bytes.Equal(valid, again) {
		t.Error("equal trajectories are different bytes")
	}
	bad := trajectory(rl.EpisodeID{Run: "a"}, 1)
	bad.Turns[0].Action.LogProbs[0] = float32(math.NaN())
	_, err := store.EncodeTrajectory(bad)
	is(t, err, rl.Invalid)
	for name, b := range map[string][]byte{
		"empty": {}, "cut": valid[:len(valid)-5], "no zstd": []byte("{}"), "two": append(bytes.Clone(valid), valid...),
		"no trajectory": pack(t, "{}"), "null": pack(t, "null"), "a list": pack(t, "[]"), "trailing": pack(t, "{} {}"),
	} {
		if _, err := store.DecodeTrajectory("k", b); rl.KindOf(err) != rl.Corrupt {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A few kilobytes that unpack to more than a trajectory may have are refused.
func TestTrajectoryBomb(t *testing.T) {
	var bomb bytes.Buffer
	w := must[*zstd.Encoder](t)(zstd.NewWriter(&bomb))
	spaces := bytes.Repeat([]byte(" "), 1<<20)
	for range 160 {
		w.Write(spaces)
	}
	w.Close()
	_, err := store.DecodeTrajectory("k", bomb.Bytes())
	is(t, err, rl.Corrupt)
	if bomb.Len() > 1<<20 || !strings.Contains(err.Error(), "unpack") {
		t.Errorf("%d bytes: %v", bomb.Len(), err)
	}
}

func pack(t testing.TB, s string) []byte {
	w := must[*zstd.Encoder](t)(zstd.NewWriter(nil))
	return w.EncodeAll([]byte(s), nil)
}

func FuzzTrajectory(f *testing.F) {
	f.Add(must[[]byte](f)(store.EncodeTrajectory(trajectory(rl.EpisodeID{Run: "a", Update: 1, Task: "train-1"}, 1))))
	f.Add(pack(f, `{"schema":"longhaul/trajectory/1"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		tr, err := store.DecodeTrajectory("k", b)
		if err != nil {
			is(t, err, rl.Corrupt)
			return
		}
		again := must[[]byte](t)(store.EncodeTrajectory(tr))
		back := must[*rl.Trajectory](t)(store.DecodeTrajectory("k", again))
		if twice := must[[]byte](t)(store.EncodeTrajectory(back)); !bytes.Equal(again, twice) {
			t.Fatalf("%+v", tr)
		}
	})
}

func BenchmarkTrajectory(b *testing.B) {
	s := inProcess(b)
	for _, turns := range []int{8, 100} {
		b.Run(fmt.Sprintf("turns=%d", turns), func(b *testing.B) {
			n := 0
			for b.Loop() {
				e := rl.EpisodeID{Run: "a", Update: rl.UpdateNumber(turns), Task: rl.TaskID(fmt.Sprint(b.N)), Member: n}
				if _, err := s.PutTrajectory(b.Context(), store.TrajectoryKey(e), trajectory(e, turns)); err != nil {
					b.Fatal(err)
				}
				n++
			}
		})
	}
}
