package dev

import (
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
	if err != nil {
		return nil, err
	}
	if ready {
		return db, checkDatabase(db.DatabaseName)
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
	if err := os.WriteFile(db.DatabaseName, nil, 0o600); err != nil { // SQLite would let others read it
		return nil, err
	}
	if err := makeDatabase(db); err != nil {
		return nil, fmt.Errorf("make %s: %w", db.DatabaseName, err)
	}
	mark.Ready = true
	return db, writeJSON(at(dir, originFile), mark)
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
