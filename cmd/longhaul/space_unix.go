//go:build linux || darwin || freebsd

package main

import "golang.org/x/sys/unix"

// freeBytes is the space that this user may still fill on the file system of a directory.
func freeBytes(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}
