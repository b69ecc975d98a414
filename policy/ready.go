package policy

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/rl"
)

// Ready asks whether the servers answer and know the model: by the model's own page, which makes a server that loads
// models on demand load it, else by the list of models. With training, a token is sampled, too, and its answer must have
// what training needs. Servers that are away are left out, unless all are.
//
// Errors are *rl.Error as Act's, and NotFound naming the models there are.
func (c *Client) Ready(ctx context.Context, model string, training bool) error {
	return c.tell(ctx, func(ctx context.Context, s *server) error {
		if err := s.knows(ctx, model); err != nil || !training {
			return err
		}
		return s.token(ctx, model, true, probeTimeout)
	})
}

func (s *server) knows(ctx context.Context, model string) error {
	ctx, cancel := context.WithTimeout(ctx, doTime) // a model is loaded, maybe
	defer cancel()
	_, err := s.api.GetModel(ctx, url.PathEscape(model))
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*rl.Error](err); !ok || e.Kind != rl.Refused {
		return s.server.Failure(err)
	}
	list, err := s.api.ListModels(ctx)
	if err != nil {
		return s.server.Failure(err)
	}
	var names []string
	for _, m := range list.Models {
		names = append(names, m.ID)
	}
	if slices.Contains(names, model) {
		return nil
	}
	return rl.Errorf(rl.NotFound, s.server.At, "no model %q; there are: %s", model, endpoint.Shorten(strings.Join(names, ", ")))
}
