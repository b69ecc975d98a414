//go:build !unix

package propose

import "os"

func hold(*os.File) error { return nil }
