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
	maxPacked   = 64 << 20  // bytes, compressed
	maxUnpacked = 256 << 20 // bytes of JSON
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
// more than 256 MiB.
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

// PutTrajectory records an episode at key (TrajectoryKey, EvaluationTrajectoryKey) unless it is recorded, and
// returns what is. Errors: Invalid, else as PutFirst.
func (s *Store) PutTrajectory(ctx context.Context, key string, t *rl.Trajectory) (rl.Ref, *rl.Trajectory, error) {
	body, err := EncodeTrajectory(t)
	if err != nil {
		return rl.Ref{}, nil, err
	}
	ref, recorded, err := s.PutFirst(ctx, key, body)
	if err != nil {
		return ref, nil, err
	}
	if bytes.Equal(recorded, body) {
		return ref, t, nil
	}
	t, err = DecodeTrajectory(key, recorded)
	return ref, t, err
}

// Trajectory reads a recorded episode. Errors: NotFound, Corrupt, else as Get.
func (s *Store) Trajectory(ctx context.Context, ref rl.Ref) (*rl.Trajectory, error) {
	body, err := s.GetRef(ctx, ref)
	if err != nil {
		return nil, err
	}
	return DecodeTrajectory(ref.Key, body)
}

// FindTrajectory reads the episode recorded at key, and its reference. Errors: NotFound, Corrupt, else as Get.
func (s *Store) FindTrajectory(ctx context.Context, key string) (rl.Ref, *rl.Trajectory, error) {
	ref, body, err := s.Find(ctx, key)
	if err != nil {
		return ref, nil, err
	}
	t, err := DecodeTrajectory(key, body)
	return ref, t, err
}
