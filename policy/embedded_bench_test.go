package policy_test

import (
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/inprocess"
	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/tiny"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// BenchmarkEmbedded plays conversations of 8 turns, 16 live a thread, and says what a turn costs in CPU time, the
// server's and the client's together, and how much of it is not the model's.
func BenchmarkEmbedded(b *testing.B) {
	const threads, turns = 2, 8
	config := nn.Config{D: 96, L: 3, F: 256, Ctx: 256}
	s := desk(b, config, threads)
	process := policy.New(policy.Options{URL: "http://tiny/v1", Splice: true, Transport: inprocess.Transport{Handler: s}})
	bare := modelAlone(b, process, config, turns)
	for name, c := range map[string]*policy.Client{"process": process, "socket": policy.New(policy.Options{URL: serve(b, s) + "/v1", Splice: true})} {
		b.Run(name, func(b *testing.B) {
			b.SetParallelism(16)
			start := cpu()
			b.RunParallel(func(p *testing.PB) {
				for n := 0; p.Next(); n++ {
					if _, err := play(b.Context(), c, n, turns); err != nil {
						b.Error(err)
					}
				}
			})
			took := micros(cpu()-start) / float64(b.N*turns)
			b.ReportMetric(took, "cpu-us/turn")
			b.ReportMetric(took-bare, "over-model-us/turn")
		})
	}
}

// modelAlone is the CPU time a turn of the benchmark's conversations takes in the model: 16 sequences in step.
func modelAlone(b *testing.B, c *policy.Client, config nn.Config, turns int) float64 {
	const live, rounds = 16, 20
	config.V = tiny.Vocab
	m := nn.New(config, 1)
	played := make([][]policy.Response, live)
	for n := range played {
		var err error
		if played[n], err = play(b.Context(), c, n, turns); err != nil {
			b.Fatal(err)
		}
	}
	r, scratch := m.NewRunner(), []float32{}
	var took time.Duration
	for range rounds {
		seqs := make([]*nn.Seq, live)
		for n := range seqs {
			seqs[n] = m.NewSeq()
		}
		start := cpu()
		for turn := range turns {
			for step := 0; ; step++ {
				var at []*nn.Seq
				var tokens [][]int32
				for n, s := range seqs {
					switch p := played[n][turn]; {
					case step == 0:
						at, tokens = append(at, s), append(tokens, p.Prompt[s.N:])
					case step < len(p.Tokens):
						at, tokens = append(at, s), append(tokens, p.Tokens[step-1:step])
					}
				}
				if len(at) == 0 {
					break
				}
				logits := r.Forward(at, tokens)
				for i := range at {
					nn.Draw(logits[i*m.V:(i+1)*m.V], 1, 0.5, &scratch)
				}
			}
		}
		took += cpu() - start
	}
	return micros(took) / (live * rounds) / float64(turns)
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func serve(b *testing.B, h http.Handler) string {
	srv := httptest.NewServer(h)
	b.Cleanup(srv.Close)
	return srv.URL
}

func cpu() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
