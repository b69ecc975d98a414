package dev

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
)

const credentialsFile = "credentials.json"

// credentials is the key pair of the embedded S3, random per directory. It keeps other users of this
// machine out of the store; the loopback port alone would let them in.
type credentials struct {
	AccessKey string `json:"access_key"`
	SecretKey string `json:"secret_key"`
}

const shortest = 3 // the server refuses shorter access keys

// openCredentials reads the directory's key pair or makes one: at first use, and instead of a damaged one. Other
// processes learn it from process.json, so that nothing is lost with the old one.
func openCredentials(dir string, log *slog.Logger) (c credentials, err error) {
	path := at(dir, credentialsFile)
	b, err := os.ReadFile(path)
	if err == nil {
		wrong := json.Unmarshal(b, &c)
		if wrong == nil && len(c.AccessKey) >= shortest && c.SecretKey != "" {
			return c, nil
		}
		log.Warn("the store's key pair cannot be read; a new one is made", "file", path, "error", wrong)
	} else if !errors.Is(err, os.ErrNotExist) {
		return c, err
	}
	c = credentials{AccessKey: "LH" + rand.Text(), SecretKey: randomHex(32)}
	return c, writeJSON(path, c)
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(b)
}
