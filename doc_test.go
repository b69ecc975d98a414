package longhaul_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// tracked are the repository's files with one of the endings, relative to its root.
func tracked(t *testing.T, endings ...string) []string {
	t.Helper()
	out, err := exec.Command("git", "ls-files", "-z").Output()
	if err != nil {
		t.Fatalf("these tests look at the files that git tracks: %v", err)
	}
	var files []string
	for f := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		_, err := os.Stat(f)
		for _, e := range endings {
			if strings.HasSuffix(f, e) && err == nil { // a deletion that is not committed yet is passed over
				files = append(files, f)
				break
			}
		}
	}
	if len(files) == 0 {
		t.Fatalf("no tracked file ends in %v", endings)
	}
	return files
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	said := map[string]bool{}
	for file, f := range sources(t) {
		dir := path.Dir(file)
		said[dir] = said[dir] || len(strings.Fields(f.Doc.Text())) >= 10
	}
	for dir, ok := range said {
		if !ok {
			t.Errorf("package %s has no comment of at least ten words: what is it, why, where does one read on?", dir)
		}
	}
}

func TestExportedNamesAreDocumented(t *testing.T) {
	for file, f := range sources(t) {
		if f.Name.Name == "main" {
			continue
		}
		for _, d := range f.Decls {
			for _, name := range undocumented(d) {
				t.Errorf("%s: %s has no comment", file, name)
			}
		}
	}
}

// sources are the parsed files of all packages, tests and build-ignored programs excepted.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	parsed := map[string]*ast.File{}
	for _, file := range tracked(t, ".go") {
		if strings.HasSuffix(file, "_test.go") || strings.Contains(file, "testdata/") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed[file] = f
	}
	return parsed
}

// standard are the methods whose meaning the standard library fixes.
var standard = map[string]bool{"Error": true, "String": true, "Unwrap": true}

// undocumented lists the exported names of a declaration that nothing is said about.
func undocumented(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) && !standard[d.Name.Name] {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && s.Doc == nil && d.Doc == nil {
					names = append(names, s.Name.Name)
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					typed := d.Tok == token.CONST && s.Type != nil // one of a kind that its type explains
					if n.IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil && !typed {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if generic, ok := typ.(*ast.IndexExpr); ok {
		typ = generic.X
	}
	name, ok := typ.(*ast.Ident)
	return !ok || name.IsExported()
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fence   = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	notSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

func TestLinksLeadSomewhere(t *testing.T) {
	for _, file := range tracked(t, ".md") {
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(read(t, file), ""), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, ":") { // another site
				continue
			}
			to := file
			if target != "" {
				to = path.Join(path.Dir(file), target)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %s leads nowhere", file, m[0])
			} else if anchor != "" && strings.HasSuffix(to, ".md") && !anchors(read(t, to))[anchor] {
				t.Errorf("%s: %s has no such heading", file, m[0])
			}
		}
	}
}

// anchors are the headings of a page as links name them.
func anchors(page string) map[string]bool {
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		found[strings.ReplaceAll(notSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return found
}

var generated = regexp.MustCompile(`(?m)^(//|#) Code generated .* DO NOT EDIT\.$`)

func TestFilesFitInAHead(t *testing.T) {
	const most = 400 // lines
	for _, file := range tracked(t, ".go", ".s", ".py", ".sh") {
		text := read(t, file)
		if n := strings.Count(text, "\n"); n > most && !generated.MatchString(text) {
			t.Errorf("%s has %d lines, more than %d: which part of it has a name of its own?", file, n, most)
		}
	}
}

// What is written here is read on other machines: no path of one machine, and packages come from where the
// reader's own tools are set to get them.
func TestNothingPointsAtOneMachine(t *testing.T) {
	foreign := regexp.MustCompile(`(?m)(^|[\s"'=(:\x60])(/(work|root|home|Users)/|[\w.-]*(pypi\.org|pythonhosted\.org|proxy\.golang\.org|npmjs\.org))|index-url`)
	for _, file := range tracked(t, "") {
		if file == "doc_test.go" || filepath.Ext(file) == ".zst" {
			continue
		}
		if s, err := os.Lstat(file); err != nil || s.Mode().Type() == fs.ModeSymlink {
			continue
		}
		if m := foreign.FindString(read(t, file)); m != "" {
			t.Errorf("%s names a place that is not everybody's: %q", file, m)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
