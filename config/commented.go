package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// Width and column of comments in the file of `longhaul init`.
const (
	lineWidth = 110
	column    = 34
)

// Commented is a run.yaml that holds the whole config, each key with its description. Parse reads it back to the same
// config. Keys that are not set (an empty text, a size of the other policy) stand there
// as comments, with the default that they have where they are read.
func Commented(cfg rl.Config) []byte {
	var b strings.Builder
	b.WriteString("# A run of longhaul. `longhaul train -f run.yaml` starts it, or goes on with it; `longhaul doctor -f run.yaml`\n" +
		"# tries what it needs. Every key but name and env.use may be left out and then has the value it has here; keys in\n" +
		"# comments are not read as the others are set, such as the judge's without a judge.\n\n")
	for _, f := range root.fields {
		f.comment(&b, &cfg, "")
		if f.kind == section {
			b.WriteByte('\n')
		}
	}
	return []byte(b.String())
}

func (f *field) comment(b *strings.Builder, cfg *rl.Config, indent string) {
	if f.kind != section {
		line := indent + f.key + ": " + f.yaml(cfg)
		if f.unset(*cfg) {
			line = strings.TrimSuffix(indent+"# "+f.key+": "+f.elsewhere(*cfg), " ")
		}
		annotated(b, line, f.doc)
		return
	}
	line := indent + f.key + ":"
	if f.empty(*cfg) {
		line = indent + "# " + f.key + ":"
	}
	annotated(b, line, f.doc)
	for _, c := range f.fields {
		c.comment(b, cfg, indent+"  ")
	}
}

// elsewhere is the default that the field has where something reads it: with a judge, a preference loss, or update jobs of
// their own. Empty: none.
func (f *field) elsewhere(cfg rl.Config) string {
	cfg.Reward.Use, cfg.Loss.Use, cfg.Update.Use = "judge", "dpo", "local"
	v := f.usual(cfg)
	if v.IsZero() {
		return ""
	}
	return f.show(v)
}

// empty reports whether none of a section's keys is set.
func (f *field) empty(cfg rl.Config) bool {
	return !slices.ContainsFunc(f.collect(nil), func(leaf *field) bool { return !leaf.unset(cfg) })
}

// annotated writes a line with its description beside it, going on below where it is long.
func annotated(b *strings.Builder, line, doc string) {
	at := max(column, len(line)+1)
	for i, part := range wrapped(doc, lineWidth-at-2) {
		if i > 0 {
			line = ""
		}
		fmt.Fprintf(b, "%-*s# %s\n", at, line, part)
	}
}

func wrapped(s string, width int) (lines []string) {
	line := ""
	for _, w := range strings.Fields(s) {
		if line != "" && len(line)+1+len(w) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+w, " ")
	}
	return append(lines, line)
}

var bareText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./-]*$`)

// yaml is the field's value as YAML: texts in quotes where they could be taken for something else.
func (f *field) yaml(cfg *rl.Config) string {
	s := f.show(f.in(cfg))
	if f.kind != text || bareText.MatchString(s) && !reserved[strings.ToLower(s)] {
		return s
	}
	return strconv.Quote(s)
}

// reserved words are truth values or nothing to some YAML reader.
var reserved = map[string]bool{"true": true, "false": true, "yes": true, "no": true, "on": true, "off": true, "y": true, "n": true, "null": true}
