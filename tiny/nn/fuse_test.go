package nn

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"
)

// A compiler may fuse a float product into the sum it flows to, and so may give other bits on another machine,
// unless an explicit conversion rounds it first (Go specification, "Floating-point operators"). So every float
// product in this package stands directly in a conversion, or is the factor of another product.
func TestNothingToFuse(t *testing.T) {
	files := token.NewFileSet()
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	kern, _ := check(t, files, "../kern", nil, nil)
	_, parsed := check(t, files, ".", kern, info)
	found := 0
	for _, f := range parsed {
		var stack []ast.Node
		ast.Inspect(f, func(n ast.Node) bool {
			if n == nil {
				stack = stack[:len(stack)-1]
				return true
			}
			if product(n, info) {
				found++
				if !rounded(stack, n) {
					t.Errorf("%s: a product that is not rounded by a conversion", files.Position(n.Pos()))
				}
			}
			stack = append(stack, n)
			return true
		})
	}
	if found < 50 {
		t.Errorf("only %d float products found: the test does not see them", found)
	}
}

// check parses and type-checks the package in dir. Of its imports only kern is loaded; what comes from others
// has no type, and counts as float.
func check(t *testing.T, files *token.FileSet, dir string, kern *types.Package, info *types.Info) (*types.Package, []*ast.File) {
	names, err := filepath.Glob(dir + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var parsed []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
	}
	config := types.Config{Error: func(error) {}, Importer: only{kern}}
	pkg, _ := config.Check(dir, files, parsed, info) // the other imports' errors are expected
	return pkg, parsed
}

type only struct{ kern *types.Package }

func (o only) Import(path string) (*types.Package, error) {
	if o.kern != nil && strings.HasSuffix(path, "/kern") {
		return o.kern, nil
	}
	return nil, errors.New("not loaded")
}

// product reports whether n multiplies floats that are not constants.
func product(n ast.Node, info *types.Info) bool {
	float := func(e ast.Expr) bool {
		tv := info.Types[e]
		b, basic := tv.Type.(*types.Basic)
		return tv.Value == nil && (!basic || b.Kind() == types.Invalid || b.Info()&types.IsFloat != 0)
	}
	switch n := n.(type) {
	case *ast.BinaryExpr:
		return n.Op == token.MUL && info.Types[n].Value == nil && (float(n.X) || float(n.Y))
	case *ast.AssignStmt:
		return n.Tok == token.MUL_ASSIGN && float(n.Lhs[0])
	}
	return false
}

// rounded reports whether the innermost node around n, parentheses aside, is a conversion or a product.
func rounded(stack []ast.Node, n ast.Node) bool {
	if _, assign := n.(*ast.AssignStmt); assign {
		return false
	}
	for i := len(stack) - 1; i >= 0; i-- {
		switch around := stack[i].(type) {
		case *ast.ParenExpr:
			continue
		case *ast.BinaryExpr:
			return around.Op == token.MUL
		case *ast.CallExpr:
			name, ok := around.Fun.(*ast.Ident)
			return ok && (name.Name == "float32" || name.Name == "float64")
		default:
			return false
		}
	}
	return false
}
