package dev

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/headers"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	sqliteschema "go.temporal.io/server/schema/sqlite"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/longhaul-rl/longhaul/rl"
)

const (
	databaseFile = "temporal.db"
	originFile   = "temporal.json"
	clusterName  = "active"
	retention    = 30 * 24 * time.Hour // of finished workflows; the server's own default is a day
)

// searchAttributes are the ones that workflows of longhaul carry.
var searchAttributes = map[string]enums.IndexedValueType{
	"LonghaulRun":    enums.INDEXED_VALUE_TYPE_KEYWORD,
	"LonghaulUpdate": enums.INDEXED_VALUE_TYPE_INT,
	"LonghaulState":  enums.INDEXED_VALUE_TYPE_KEYWORD,
}

// origin says which server wrote the database. Temporal's SQLite store has no check of its own: another
// version would read the tables as if they were its own.
type origin struct {
	Server string `json:"server"`
	// Ready is false from before the first table is made until the last one is.
	Ready bool `json:"ready"`
}

// openDatabase makes the database at first use and returns how to open it.
func openDatabase(dir string) (*config.SQL, error) {
	db := &config.SQL{
		PluginName:   sqliteplugin.PluginName,
		DatabaseName: at(dir, databaseFile),
		MaxConns:     1, MaxIdleConns: 1, // a second connection gets SQLITE_BUSY
		ConnectAttributes: map[string]string{
			"mode": "rwc", "journal_mode": "wal", "busy_timeout": "10000",
			// Every commit reaches the disk. normal would lose the last ones at a power cut, and with them
			// the promise that a stage which reported its result is not done twice.
			"synchronous": "full",
		},
	}
	ready, err := checkOrigin(dir)
	if err != nil || ready {
		return db, err
	}
	mark := origin{Server: headers.ServerVersion}
	if err := writeJSON(at(dir, originFile), mark); err != nil {
		return nil, err
	}
	for _, suffix := range []string{"", "-wal", "-shm"} { // of a process that died while making it
		if err := os.Remove(db.DatabaseName + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if err := makeDatabase(db); err != nil {
		return nil, fmt.Errorf("make %s: %w", db.DatabaseName, err)
	}
	mark.Ready = true
	return db, writeJSON(at(dir, originFile), mark)
}

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
		"written by %s, and this program has %s. Finish its runs with the program that started them, or move %s* aside "+
			"(checkpoints and trajectories are in the store and stay; unfinished workflows are forgotten)",
		writer, headers.ServerVersion, database)
}

// makeDatabase creates the tables and the namespace.
func makeDatabase(db *config.SQL) error {
	if err := sqliteschema.SetupSchema(db); err != nil {
		return err
	}
	ns, err := sqliteschema.NewNamespaceConfig(clusterName, Namespace, false, searchAttributes)
	if err != nil {
		return err
	}
	ns.Detail.Config.Retention = durationpb.New(retention)
	return sqliteschema.CreateNamespaces(db, ns)
}
