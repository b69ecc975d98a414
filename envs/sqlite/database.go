package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// What a database may grow to. All of it ends in the same place for everybody, so that an episode can be played again.
const (
	pageBytes  = 1024
	mostBytes  = 16 << 20 // of a database
	mostValue  = 1 << 20  // of one text, and of one row
	mostResult = 1 << 20  // of what a call gives
)

// database is a connection to a database in memory that nobody else sees. It reaches no file: no database can be attached.
type database struct{ conn *sql.Conn }

// connections makes them; none is kept for another.
var connections = sync.OnceValues(func() (*sql.DB, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err == nil {
		db.SetMaxIdleConns(-1)
	}
	return db, err
})

// settings hold for a connection; limits, for the database that it was given last.
const (
	settings = `PRAGMA page_size = 1024; PRAGMA foreign_keys = on; PRAGMA trusted_schema = off; PRAGMA temp_store = memory; PRAGMA cache_size = -256`
	limits   = `PRAGMA journal_mode = memory; PRAGMA max_page_count = 16384` // mostBytes in pages
)

func openDatabase(ctx context.Context) (*database, error) {
	all, err := connections()
	if err != nil {
		return nil, err
	}
	conn, err := all.Conn(ctx)
	if err != nil {
		return nil, err
	}
	d := &database{conn}
	for id, most := range map[int]int{lib.SQLITE_LIMIT_ATTACHED: 0, lib.SQLITE_LIMIT_LENGTH: mostValue, lib.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1000, lib.SQLITE_LIMIT_TRIGGER_DEPTH: 32} {
		_, limited := sqlite.Limit(conn, id, most)
		err = errors.Join(err, limited)
	}
	if err = errors.Join(err, d.do(ctx, settings), d.do(ctx, limits)); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *database) close() error { return d.conn.Close() }

// do executes statements that give nothing.
func (d *database) do(ctx context.Context, sql string, args ...any) error {
	_, err := d.conn.ExecContext(ctx, sql, args...)
	return err
}

// commit ends a transaction. Of its errors only a constraint is the doing of what was in it.
func (d *database) commit(ctx context.Context) error {
	err := d.do(ctx, "COMMIT")
	if e, ok := errors.AsType[*sqlite.Error](err); ok && e.Code()&0xff != lib.SQLITE_CONSTRAINT {
		return fmt.Errorf("COMMIT: %v", err)
	}
	return err
}

// imaged is what the driver's connection can do with the whole of a database.
type imaged interface {
	Serialize() ([]byte, error)
	Deserialize([]byte) error
}

// image is the database as bytes. The same statements give the same bytes.
func (d *database) image() (b []byte, err error) {
	err = d.conn.Raw(func(c any) (err error) {
		b, err = c.(imaged).Serialize()
		return err
	})
	return b, err
}

// become replaces the database by the one of an image.
func (d *database) become(ctx context.Context, image []byte) error {
	err := d.conn.Raw(func(c any) error { return c.(imaged).Deserialize(image) })
	if err != nil {
		return err
	}
	return d.do(ctx, limits)
}

var errTooMuch = errors.New("the result is too long")

// rows are what a statement gives, all of it: errTooMuch above mostResult bytes.
func (d *database) rows(ctx context.Context, sql string, args ...any) (columns []string, all [][]any, err error) {
	r, err := d.conn.QueryContext(ctx, sql, args...)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	if columns, err = r.Columns(); err != nil {
		return nil, nil, err
	}
	size := 0
	for r.Next() {
		row := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := r.Scan(into...); err != nil {
			return nil, nil, err
		}
		for _, v := range row {
			size += len(fmt.Sprint(v)) + 1
		}
		if size > mostResult {
			return nil, nil, errTooMuch
		}
		all = append(all, row)
	}
	return columns, all, r.Err()
}

// refusal is what the policy is told of an error that its call has led to, in SQLite's words; ok is false for one that is nobody's
// doing but ours: no memory, an interrupt, a damaged database.
func refusal(err error) (words string, ok bool) {
	if errors.Is(err, errTooMuch) {
		return err.Error(), true
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return "", false
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_CONSTRAINT, lib.SQLITE_ERROR, lib.SQLITE_TOOBIG, lib.SQLITE_FULL, lib.SQLITE_MISMATCH:
	default:
		return "", false
	}
	words = e.Error()
	for _, before := range []string{"constraint failed: ", "SQL logic error: "} {
		words = strings.TrimPrefix(words, before)
	}
	if i := strings.LastIndex(words, " ("); i > 0 {
		words = words[:i]
	}
	return words, true
}
