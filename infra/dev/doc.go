// Package dev runs the outside parts that longhaul needs, a Temporal server with its web UI and an S3
// store, inside this process: for a laptop, for the demo and for tests. Nothing else has to be installed
// or started.
//
// Everything listens on 127.0.0.1 only and keeps its state under one directory, which one process holds
// at a time by a file lock. Kill that process at any point: what was acknowledged is on disk, and the
// next Start goes on from it. Other commands find the holder's endpoints through Attach.
//
//	lock               held while a process uses the directory; says which one
//	process.json       the holder's endpoints and credentials, there while it runs
//	ports.json         the ports used last, taken again so that printed addresses stay valid
//	credentials.json   the S3 key pair, made at first use
//	temporal.db        Temporal's state (SQLite, write-ahead log)
//	temporal.json      the server version that wrote it
//	temporal.log       the server's warnings
//	s3/                the object store
//
// The same workers and store run against a real cluster and a real S3 by environment alone; this package
// is not part of that. Start reading at dev.go; temporal.go has the server's settings and why they are so.
package dev
