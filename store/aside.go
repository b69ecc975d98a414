package store

import (
	"context"
	"fmt"
	"path"

	"github.com/longhaul-rl/longhaul/rl"
)

// SetAside moves a record out of the way of another one, which is to take its place: to aside/<sha256>-<name> beside it, where
// people find it. One that is not there is no error. The move is a copy and then a removal; a second try ends what a first one
// began. Errors as Get.
func (s *Store) SetAside(ctx context.Context, key string) error {
	ref, body, err := s.Find(ctx, key)
	if rl.KindOf(err) == rl.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	dir, name := path.Split(key)
	if _, err := s.PutNew(ctx, fmt.Sprintf("%saside/%.12s-%s", dir, ref.SHA256, name), body); err != nil {
		return err
	}
	return s.Delete(ctx, key)
}
