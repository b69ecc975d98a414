package rl

// SQLiteConfig is a world made of files.
type SQLiteConfig struct {
	Dir string `json:"dir,omitempty" doc:"sqlite: the world's directory, with schema.sql, tools/ and tasks.jsonl, on every machine that has a worker"`
}
