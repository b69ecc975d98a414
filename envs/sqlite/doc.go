// Package sqlite makes worlds of files: a directory with a schema, tools in SQL and tasks is a tool-use environment, without
// a line of code.
//
//	schema.sql        tables, triggers, and the rows that all tasks share
//	system.md         the system message (optional)
//	tools/NAME.sql    one tool a file: a header of comments (header.go), then statements with :parameters
//	tasks.jsonl       one task a line (tasks.go): goal, seed rows, checks over the final state, a reference solution
//
// An episode is a database in memory: the schema, and the task's seed rows. A call of a tool runs its statements in one
// transaction; what SQLite refuses (a constraint, a trigger's RAISE) is what the policy sees. The score is 1 when all of the
// task's checks hold, each a SELECT over the state as the episode left it, else 0.
//
// The files are held to their word when a world is opened (compile.go): statements reach no file and no other database, read no
// clock and no chance, and a pure tool has no statement that could write, which SQLite's own program of it shows. So the same
// calls make the same bytes, and a snapshot (snapshot.go) is the pages that an episode has changed.
//
// The shop (shop/, shop.go) is such a directory inside the binary: 200 tasks of a support desk. To make a world, copy it.
package sqlite
