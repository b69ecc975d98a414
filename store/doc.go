// Package store keeps everything a run makes in S3: trajectories, scores, batches, ledgers, checkpoints and the
// pointers to them.
//
// Objects are immutable. Their keys (keys.go) follow from the run, update, task and member, and the first write
// wins: a stage that is retried finds what is recorded and goes on with it. Two kinds of object are not:
// pointers, which move by compare-and-swap, and a few small notes and leases written with Put.
//
// Large files are cut into chunks named by their sha256 (chunks.go). A checkpoint is published in the order
// chunks, manifest, pointer, so whatever a pointer names is complete; Restore checks every byte of it and falls
// back to an older checkpoint when one is damaged.
//
// Every object is written with its sha256 as the S3 checksum and checked when it is read. A damaged record counts
// as no record: the next first write replaces it.
//
// GC removes what nothing refers to any more (retention.go, gc.go); sweep.go says how it and the writers keep out of
// each other's way.
//
// The same code talks to AWS, R2, MinIO, Ceph and the embedded server of infra/dev/s3; Check refuses an endpoint
// that ignores conditional writes. Start with objects.go, then checkpoints.go and restore.go.
package store
