package store

import "github.com/longhaul-rl/longhaul/rl"

// DecodeManifest reads a checkpoint's manifest.
func DecodeManifest(key string, b []byte) (rl.Checkpoint, error) {
	c, err := decode[rl.Checkpoint](key, b)
	if err == nil {
		err = checkManifest(key, c)
	}
	return c, err
}
