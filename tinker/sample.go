package tinker

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// sampler is a version that the service samples from.
type sampler struct {
	client   *Client
	Template *Template
	of       Checkpoint

	mu      sync.Mutex
	path    string
	session *session // keeps model loaded; nil while path is the checkpoint's own
	model   *Model
	lease   *time.Timer // ends the session
}

// idle is how long a version is kept in the engine's memory when nobody asks for it.
const idle = 15 * time.Minute

// sampled is one action.
type sampled struct {
	Tokens   []int32          `json:"tokens"`
	LogProbs numbers[float32] `json:"logprobs"`
	Stop     string           `json:"stop_reason"` // stop or length
}

// sampling is asample's sampling_params.
type sampling struct {
	MaxTokens   int     `json:"max_tokens"`
	Temperature float64 `json:"temperature"`
	TopP        float64 `json:"top_p"`
	TopK        int     `json:"top_k"`
	Seed        uint64  `json:"seed"`
	Stop        []int32 `json:"stop"`
}

// sample asks for one action. Asking changes nothing in the service and the same seed gives the same tokens, so it is asked
// again where the service has forgotten the weights: an engine that was started again, or that keeps those alone whose
// session beats, gets them from the checkpoint.
func (s *sampler) sample(ctx context.Context, ids []int32, p sampling) (out sampled, err error) {
	path := s.at()
	for range tries {
		var answer struct {
			Sequences []sampled `json:"sequences"`
		}
		in := map[string]any{"prompt": prompt(ids), "num_samples": 1, "model_path": path, "sampling_params": p}
		err = s.client.call(ctx, "asample", in, &answer)
		switch {
		case err == nil && len(answer.Sequences) == 1 && len(answer.Sequences[0].Tokens) == len(answer.Sequences[0].LogProbs):
			return answer.Sequences[0], nil
		case err == nil:
			return out, rl.Errorf(rl.Unavailable, s.client.at, "asample: one sequence was asked for, with a log-probability a token, and did not come")
		case ctx.Err() != nil || !errors.Is(err, ErrLost) && rl.KindOf(err) != rl.NotFound:
			return out, err
		}
		if path, err = s.restore(ctx, path); err != nil && !errors.Is(err, ErrLost) {
			return out, err
		}
		if err := sleep(ctx, pause); err != nil {
			return out, err
		}
	}
	return out, err
}

// at is where the version is sampled from, and renews its lease.
func (s *sampler) at() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session != nil {
		s.lease.Reset(idle)
	}
	return s.path
}

// restore makes the service sample again, unless somebody has done so since path was lost: from a model of this process's
// own, with the weights of the checkpoint.
func (s *sampler) restore(ctx context.Context, lost string) (path string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.path != lost {
		return s.path, nil
	}
	s.drop(ctx)
	if s.session, err = s.client.open(ctx); err != nil {
		return lost, err
	}
	s.model, err = s.session.create(ctx, s.of.Base)
	if err == nil {
		err = s.model.restore(ctx, s.of.Weights)
	}
	if err == nil {
		path, err = s.model.save(ctx, "save_weights_for_sampler", "serve")
	}
	if err != nil {
		s.drop(ctx)
		return lost, err
	}
	s.path, s.lease = path, time.AfterFunc(idle, s.leave)
	return path, nil
}

// leave frees the version's place in the engine. Whoever still samples from it has it restored.
func (s *sampler) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(context.Background())
}

// drop lets go of the model.
func (s *sampler) drop(ctx context.Context) {
	if s.session == nil {
		return
	}
	if s.lease != nil {
		s.lease.Stop()
	}
	if s.model != nil {
		s.model.unload(ctx)
	}
	s.session.close()
	s.session, s.model, s.lease = nil, nil, nil
}
