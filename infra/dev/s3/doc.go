// Package s3 is the embedded S3 server: what a laptop and the tests use where a cluster has a bucket. It speaks the
// subset that longhaul needs, on loopback or in process (package inprocess), with signatures and checksums verified.
//
// The HTTP front is rclone's gofakes3. The backend is ours, because a checkpoint is worth nothing if an
// acknowledged write can be lost: content above 64 KiB is an fsynced file, smaller content lives in the index, and
// the one commit point of every write is an fsynced bbolt transaction (index.go, commit.go). A crash leaves
// either the old object or the new one; files that no index entry names are swept at the next start.
//
// Conditional writes (If-None-Match, If-Match) are decided inside that transaction. Buckets come into being at
// their first write. Multipart uploads, copies and versions are refused with NotImplemented: longhaul writes
// objects of at most 64 MiB, each once.
//
// Start with server.go, then backend.go.
package s3
