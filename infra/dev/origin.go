package dev

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	neturl "net/url"
	"os"
	"time"

	"go.temporal.io/server/common/headers"

	"github.com/longhaul-rl/longhaul/rl"
)

// checkOrigin tells whether a whole database of this server version is there.
// Errors: Conflict when another version wrote it, or nobody knows which.
func checkOrigin(dir string) (ready bool, err error) {
	database := at(dir, databaseFile)
	if _, err := os.Stat(database); errors.Is(err, fs.ErrNotExist) {
		return false, nil // of a new directory, or moved aside as refuse advises
	} else if err != nil {
		return false, err
	}
	const unknown = "an unknown Temporal server version (" + originFile
	b, err := os.ReadFile(at(dir, originFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, refuse(database, unknown+" is missing)")
	}
	if err != nil {
		return false, err
	}
	var o origin
	if json.Unmarshal(b, &o) != nil || o.Server == "" {
		return false, refuse(database, unknown+" cannot be read)")
	}
	if !o.Ready {
		return false, nil
	}
	if o.Server != headers.ServerVersion {
		return false, refuse(database, "Temporal server "+o.Server)
	}
	return true, nil
}

func refuse(database, writer string) error {
	return rl.Errorf(rl.Conflict, database,
		"written by %s, and this program has %s. Finish its runs with the program that started them, or %s", writer, headers.ServerVersion, aside(database))
}

// aside says what can be done without a database.
func aside(database string) string {
	return fmt.Sprintf("move %s* aside: checkpoints and trajectories are in the store and stay, and a run that is started again goes on from the newest", database)
}

// checkTime bounds the look at a database, which a large one may take long for.
const checkTime = 2 * time.Second

// checkDatabase looks whether SQLite can read the database, before the server does: what that says is hard to read.
// Errors: Corrupt.
func checkDatabase(path string) error {
	damaged := func(why any) error {
		return rl.Errorf(rl.Corrupt, path, "it cannot be read (%v). Put it and its -wal back from a copy, or %s", why, aside(path))
	}
	db, err := sql.Open("sqlite", (&neturl.URL{Scheme: "file", Path: path, RawQuery: "mode=ro"}).String()) // it changes nothing
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	tables, found := 0, ""
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE name IN ('namespaces', 'executions', 'history_node')").Scan(&tables); err != nil {
		return damaged(err)
	}
	if tables < 3 {
		return damaged("its tables are missing")
	}
	err = db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found)
	switch {
	case ctx.Err() != nil: // a large one: what is wrong in its depth the server will find
		return nil
	case err != nil:
		return damaged(err)
	case found != "ok":
		return damaged(found)
	}
	return nil
}
