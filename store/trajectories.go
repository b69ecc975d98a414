package store

import (
	"bytes"
	"context"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/longhaul-rl/longhaul/rl"
)

// Limits of a stored trajectory: a small file that unpacks to a huge one is refused, not unpacked.
const (
	maxPacked   = 32 << 20  // bytes, compressed
	maxUnpacked = 128 << 20 // bytes of JSON: some five million tokens
)

// The compressor is shared: one thread and one level, so that equal trajectories are equal bytes.
var (
	packer = sync.OnceValue(func() *zstd.Encoder {
		e, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault)) // constant, valid options
		return e
	})
	unpacker = sync.OnceValue(func() *zstd.Decoder {
		d, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxUnpacked))
		return d
	})
)

// EncodeTrajectory is the stored form: JSON, compressed with zstd. Equal trajectories give equal bytes.
// Errors: Invalid when a number is not finite.
func EncodeTrajectory(t *rl.Trajectory) ([]byte, error) {
	body, err := encode(TrajectoryKey(t.Episode), t)
	if err != nil {
		return nil, err
	}
	return packer().EncodeAll(body, nil), nil
}

// DecodeTrajectory reads the stored form; key names it in errors. Errors: Corrupt, also for bytes that unpack to
// more than 128 MiB.
func DecodeTrajectory(key string, b []byte) (*rl.Trajectory, error) {
	if len(b) > maxPacked {
		return nil, rl.Errorf(rl.Corrupt, at(key), "%d bytes are too many for a trajectory (at most %d)", len(b), maxPacked)
	}
	body, err := unpacker().DecodeAll(b, nil)
	if err != nil {
		return nil, rl.Errorf(rl.Corrupt, at(key), "it cannot be unpacked: %w", err)
	}
	t, err := decode[*rl.Trajectory](key, body)
	if err == nil && (t == nil || t.Schema != rl.TrajectorySchema) {
		err = rl.Errorf(rl.Corrupt, at(key), "it is no %s", rl.TrajectorySchema)
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// PutTrajectory records an episode at key (TrajectoryKey, EvaluationTrajectoryKey) unless one is recorded, and
// returns what is. One that cannot be read is replaced. Errors: Invalid, else as PutFirst.
func (s *Store) PutTrajectory(ctx context.Context, key string, t *rl.Trajectory) (*rl.Trajectory, error) {
	body, err := EncodeTrajectory(t)
	if err != nil {
		return nil, err
	}
	_, recorded, err := s.putFirst(ctx, key, body, func(b []byte) error {
		_, err := DecodeTrajectory(key, b)
		return err
	})
	if err != nil || bytes.Equal(recorded, body) {
		return t, err
	}
	return DecodeTrajectory(key, recorded)
}

// Trajectory reads the episode recorded at key. Errors: NotFound, Corrupt, else as Get.
func (s *Store) Trajectory(ctx context.Context, key string) (*rl.Trajectory, error) {
	body, err := s.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	return DecodeTrajectory(key, body)
}
