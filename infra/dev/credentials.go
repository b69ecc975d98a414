package dev

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"

	"github.com/longhaul-rl/longhaul/rl"
)

const credentialsFile = "credentials.json"

// credentials is the key pair of the embedded S3, random per directory. It keeps other users of this
// machine out of the store; the loopback port alone would let them in.
type credentials struct {
	AccessKey string `json:"access_key"`
	SecretKey string `json:"secret_key"`
}

// openCredentials reads the directory's key pair or makes one at first use.
func openCredentials(dir string) (c credentials, err error) {
	path := at(dir, credentialsFile)
	b, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		c = credentials{AccessKey: "LH" + rand.Text(), SecretKey: randomHex(32)}
		return c, writeJSON(path, c)
	case err != nil:
		return c, err
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, invalid(path, err)
	}
	if c.AccessKey == "" || c.SecretKey == "" {
		return c, rl.Errorf(rl.Invalid, path, "lacks access_key or secret_key; remove the file to have new ones made")
	}
	return c, nil
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(b)
}
