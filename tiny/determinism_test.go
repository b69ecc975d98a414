package tiny

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// The same requests get the same bytes: one after the other or 64 conversations at once, on one thread or two, with
// caches or without, with the sampled tokens spliced in.
func TestSameAnswers(t *testing.T) {
	const conversations, turns = 64, 4
	sequential, _ := serve(t, 1)
	sequential.caches.most = 0 // every prompt is computed from its first token
	concurrent, _ := serve(t, 2)
	crowded, _ := serve(t, 2)
	crowded.caches.most = 3
	want := make([][]string, conversations)
	for n := range want {
		want[n] = converse(t, sequential, n, turns, true)
	}
	for name, s := range map[string]*Server{"64 at once": concurrent, "64 at once, again": concurrent, "few caches": crowded} {
		var group sync.WaitGroup
		for n := range conversations {
			group.Go(func() {
				if got := converse(t, s, n, turns, true); !slices.Equal(got, want[n]) {
					t.Errorf("%s: conversation %d\n%v\nwant\n%v", name, n, got, want[n])
				}
			})
		}
		group.Wait()
	}
	if n := sequential.caches.recent.Len(); n != 0 {
		t.Errorf("%d caches were kept where none should be", n)
	}
}

// What is served is what the trainer computes: the sampler's log-probabilities equal the trainer's bit for bit, and
// the next prompt begins with all that was served before.
func TestServedTokensTrain(t *testing.T) {
	s, _ := serve(t, 1)
	for n := range 9 {
		var row nn.Example
		for turn, raw := range converse(t, s, n, 4, true) {
			r := parse(t, raw)
			if !slices.Equal(r.Prompt[:len(row.Tokens)], row.Tokens) {
				t.Fatalf("conversation %d turn %d: the prompt does not begin with what was served before", n, turn)
			}
			c := r.Choices[0]
			if len(c.TokenIDs) != len(c.LogProbs.Content) || r.Usage.PromptTokens != len(r.Prompt) || r.Usage.CompletionTokens != len(c.TokenIDs) {
				t.Fatalf("%s", raw)
			}
			row.Tokens = append(slices.Clone(r.Prompt), c.TokenIDs...)
			row.LogProbs = append(row.LogProbs, make([]float32, len(r.Prompt)-len(row.LogProbs))...)
			for _, l := range c.LogProbs.Content {
				row.LogProbs = append(row.LogProbs, l.LogProb)
			}
			for len(row.LossMask) < len(r.Prompt) {
				row.LossMask = append(row.LossMask, false)
			}
			for len(row.LossMask) < len(row.Tokens) {
				row.LossMask = append(row.LossMask, true)
			}
		}
		row.Advantages = make([]float32, len(row.Tokens))
		trainer := nn.NewTrainer(smallModel(1), 1)
		trainer.Temperature = []float64{1, 0, 0.7}[n%3]
		got, err := trainer.Score([]*nn.Example{&row})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got[0], row.LogProbs) {
			t.Errorf("conversation %d: served %v, trainer %v", n, row.LogProbs, got[0])
		}
	}
}

// A second turn finds its cache: the prompt's beginning is not computed again.
func TestCachesAreFound(t *testing.T) {
	c, m := newCaches(2), smallModel(1)
	held := func(prompt ...int32) int { return c.take(m, prompt).N }
	seq := func(n int) *nn.Seq {
		s := m.NewSeq()
		s.N = n
		return s
	}
	c.give(m, []int32{1, 2}, seq(2))
	c.give(m, []int32{1, 2, 3}, seq(3))
	for _, step := range []struct {
		prompt []int32
		want   int
	}{
		{[]int32{1, 2, 3}, 2},    // one token is left to compute, so the longer cache is of no use
		{[]int32{1, 2, 3, 4}, 3}, // the longer one
		{[]int32{1, 2, 3, 4}, 0}, // both are in use
	} {
		if got := held(step.prompt...); got != step.want {
			t.Errorf("%v: %d tokens found, want %d", step.prompt, got, step.want)
		}
	}
	for i := range int32(3) {
		c.give(m, []int32{i}, seq(1))
	}
	if c.take(smallModel(2), []int32{2, 9}).N != 0 || held(0, 9) != 0 || held(2, 9) != 1 {
		t.Error("the oldest of three should be gone, and another model's never found")
	}
	c.give(m, []int32{7}, seq(1))
	c.forget(m)
	if held(7, 8) != 0 || c.bytes != 0 || len(c.byHash) != 0 || c.recent.Len() != 0 {
		t.Errorf("after forgetting: %d bytes, %d hashes, %d caches", c.bytes, len(c.byHash), c.recent.Len())
	}
}

func TestCacheMemoryIsBounded(t *testing.T) {
	c, m := newCaches(1<<20), nn.New(nn.Config{V: Vocab, D: 256, L: 16, F: 32, Ctx: 1024}, 1) // 32 MiB a cache
	for i := range int32(20) {
		c.give(m, []int32{i}, &nn.Seq{N: 1})
	}
	if c.bytes > cacheBytes || c.recent.Len() != 8 {
		t.Errorf("%d caches of %d bytes", c.recent.Len(), c.bytes)
	}
}

func BenchmarkTurn(b *testing.B) {
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprint(threads), func(b *testing.B) {
			s, _ := serve(b, threads)
			b.SetParallelism(16)
			b.RunParallel(func(p *testing.PB) {
				for n := 0; p.Next(); n++ {
					converse(b, s, n%100, 1, true)
				}
			})
		})
	}
}
