package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// world is a directory, read and checked. Nothing of it changes.
type world struct {
	name   string
	image  []byte // the database of schema.sql
	spec   envs.Spec
	tools  map[string]*tool
	final  *tool // takes the message that ends an episode; nil: none does
	tasks  map[rl.Split][]*task
	held   map[string]bool // words of the facts of eval tasks
	timely bool            // a statement has a function of time, to which a text may be the clock
	digest string
}

// read reads and checks a world. The error names the file and the line.
func read(ctx context.Context, name string, files fs.FS) (*world, error) {
	w := &world{name: name, tools: map[string]*tool{}}
	all, err := w.files(files)
	if err != nil {
		return nil, err
	}
	d, err := openDatabase(ctx)
	if err != nil {
		return nil, err
	}
	defer d.close()
	if err := w.schema(ctx, d, all["schema.sql"]); err != nil {
		return nil, err
	}
	for _, file := range sorted(all) {
		if strings.HasPrefix(file, "tools/") {
			if err := w.tool(ctx, d, file, all[file]); err != nil {
				return nil, err
			}
		}
	}
	w.spec.System = strings.TrimSpace(string(all["system.md"]))
	if len(w.spec.Tools) == 0 {
		return nil, errors.New("tools: there is no file NAME.sql")
	}
	if w.tasks, err = readTasks("tasks.jsonl", all["tasks.jsonl"]); err != nil {
		return nil, err
	}
	w.held = heldOut(w.tasks[rl.Eval])
	return w, w.check(ctx)
}

// files reads what the world is made of, and hashes it.
func (w *world) files(files fs.FS) (map[string][]byte, error) {
	all := map[string][]byte{}
	names, err := fs.Glob(files, "tools/*.sql")
	if err != nil {
		return nil, err
	}
	for _, file := range append(names, "schema.sql", "tasks.jsonl", "system.md") {
		b, err := readFile(files, file)
		if errors.Is(err, fs.ErrNotExist) && file == "system.md" {
			continue
		}
		if err != nil {
			return nil, err
		}
		all[file] = b
	}
	h := sha256.New()
	for _, file := range sorted(all) {
		fmt.Fprintf(h, "%s %d\n", file, len(all[file]))
		h.Write(all[file])
	}
	w.digest = hex.EncodeToString(h.Sum(nil))
	return all, nil
}

// readFile reads a regular file, and does not wait for one that is none.
func readFile(files fs.FS, name string) ([]byte, error) {
	if about, err := fs.Stat(files, name); err == nil && !about.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: it is no regular file", name)
	}
	return fs.ReadFile(files, name)
}

func sorted(all map[string][]byte) (names []string) {
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// schema makes the database that all tasks share.
func (w *world) schema(ctx context.Context, d *database, source []byte) error {
	statements, err := split("schema.sql", string(source), 1)
	if err != nil {
		return err
	}
	for _, s := range statements {
		wrong := s.allowed(may.schema)
		if len(s.parameters) > 0 {
			wrong = "a parameter: only tools have them"
		}
		if wrong != "" {
			return fmt.Errorf("schema.sql:%d: %s", s.line, wrong)
		}
		w.timely = w.timely || s.timely()
		if err := within(ctx, func(ctx context.Context) error { return d.do(ctx, s.sql) }); err != nil {
			return fmt.Errorf("schema.sql:%d: %w", s.line, err)
		}
	}
	_, dated, err := d.rows(ctx, `SELECT m.name || '.' || c.name FROM sqlite_schema m, pragma_table_info(m.name) c WHERE upper(c.type) IN ('DATE', 'DATETIME', 'TIMESTAMP')`)
	if err != nil {
		return err
	}
	if len(dated) > 0 {
		return fmt.Errorf("schema.sql: %s: SQLite has no type for times: declare it TEXT", dated[0][0])
	}
	w.image, err = d.image()
	return err
}

func (w *world) tool(ctx context.Context, d *database, file string, source []byte) error {
	name := strings.TrimSuffix(path.Base(file), ".sql")
	if !validName(name) {
		return fmt.Errorf("%s: a tool is named by letters, digits and _", file)
	}
	t, err := readTool(file, name, source)
	if err != nil {
		return err
	}
	if err := t.compile(ctx, file, d); err != nil {
		return err
	}
	w.timely = w.timely || slices.ContainsFunc(t.statements, statement.timely)
	if name != envs.FinalText {
		w.tools[name] = t
		w.spec.Tools = append(w.spec.Tools, t.Tool)
		return nil
	}
	if !slices.Equal(t.parameters, []string{"text"}) {
		return fmt.Errorf("%s: it takes one param, text: the message that ends the episode", file)
	}
	w.final, w.spec.TextEnds = t, true
	return nil
}

// find is a task, or nil.
func (w *world) find(split rl.Split, index int) *task {
	if index < 0 || index >= len(w.tasks[split]) {
		return nil
	}
	return w.tasks[split][index]
}
