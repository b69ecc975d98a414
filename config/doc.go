// Package config reads run.yaml: strictly, with every problem reported at once and where it is.
//
// What a key means is said in one place each: its name, type and description by package rl (rl.Config and its
// `doc` tags), what values it takes by rules.go, what several keys must agree on by agree.go, and what it is when
// the file leaves it out by default.go. From these follow the reader (Parse), the commented file of `longhaul init`
// (Commented), the JSON Schema (Schema) and the difference of two configs (Diff).
//
// The package knows no environment, reward or estimator: the registered names come in as Names.
// Start with parse.go.
package config
