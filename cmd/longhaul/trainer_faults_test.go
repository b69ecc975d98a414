package main

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// damage does to the store, before the job looks at it, what its fault says: "NAME missing", "NAME damaged".
func (j *trainerJob) damage(ctx context.Context) error {
	if j.fault == "slow" {
		j.pace = time.Minute
	}
	name, what, ok := strings.Cut(j.fault, " ")
	if !ok {
		return nil
	}
	key := map[string]string{"spec": store.JobSpecKey(j.key), "claim": store.JobClaimKey(j.key), "result": store.JobResultKey(j.key)}[name]
	if name == "batch" {
		_, spec, err := store.FindJSON[rl.UpdateSpec](ctx, j.store, store.JobSpecKey(j.key))
		if err != nil {
			return err
		}
		key = spec.Batch.Key
	}
	var err error
	switch what {
	case "missing":
		err = j.store.Delete(ctx, key)
	case "damaged":
		_, err = j.store.Put(ctx, key, []byte("{ what"))
	case "newer":
		_, err = j.store.Put(ctx, key, []byte(`{"schema":"longhaul/`+name+`/9"}`))
	case "of another":
		_, err = j.store.Put(ctx, key, rl.CanonicalJSON(rl.JobClaim{Schema: rl.JobClaimSchema, Owner: "another", Until: time.Now().Add(2 * time.Second).UTC().Format(time.RFC3339)}))
	}
	if err == nil && name == "result" { // and says that it is done
		os.Exit(0)
	}
	return err
}

// spoil makes a result wrong before it is recorded.
func (j *trainerJob) spoil(r *rl.UpdateResult) {
	switch j.fault {
	case "wrong tokens":
		r.TokensConsumed--
	case "wrong spec":
		r.Spec = strings.Repeat("0", 64)
	case "no such chunk":
		r.Files[0].Chunks = []string{strings.Repeat("0", 64)}
	}
}
