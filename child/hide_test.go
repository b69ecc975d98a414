package child

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestHider(t *testing.T) {
	hide := NewHider(map[string]string{
		"hunter2": "A", "hunter2-and-more": "B", "Bearer sk-12345": "C", "short": "D",
		"-----BEGIN KEY-----\nMIIEvQIBADAN\nBgkqhkiG9w0B\n-----END KEY-----\n": "E", `pass"word\`: "F",
	})
	for text, want := range map[string]string{
		"hunter2-and-more, hunter2; Bearer sk-12345, sk-12345, short": "[B], [A]; [C], [C], short",
		"line 2: BgkqhkiG9w0B": "line 2: [E]",
		`"-----BEGIN KEY-----\nMIIEvQIBADAN\nBgkqhkiG9w0B\n-----END KEY-----\n"`: `"[E]\n"`,
		`pass"word\ {"p": "pass\"word\\"}`:                                       `[F] {"p": "[F]"}`,
	} {
		if got := hide.Replace(text); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	cause := errors.New("no hunter2 here")
	if err := hide.Error(cause); err.Error() != "no [A] here" || !errors.Is(err, cause) {
		t.Error(err)
	}
}

// Wherever the beginning of what is kept falls, no part of a secret is left.
func TestTailCutsNoSecretInTwo(t *testing.T) {
	const secret = "1234567890\n0987654321"
	hide := NewHider(map[string]string{secret: "KEY"})
	rapid.Check(t, func(t *rapid.T) {
		tail := &Tail{Keep: rapid.IntRange(1, 60).Draw(t, "keep")}
		for range rapid.IntRange(1, 20).Draw(t, "writes") {
			fmt.Fprint(tail, strings.Repeat(".", rapid.IntRange(0, 5).Draw(t, "dots")), secret)
		}
		if got := tail.Text(hide); strings.ContainsAny(got, "0123456789") {
			t.Fatalf("%q", got)
		}
	})
}

func TestTailKeepsTheEnd(t *testing.T) {
	tail := &Tail{Keep: 4}
	for i := range 1000 {
		fmt.Fprint(tail, i, " ")
	}
	if got := tail.Text(NewHider(nil)); got != "999 " {
		t.Errorf("%q", got)
	}
	fmt.Fprint(tail, "\xff")
	if got := tail.Text(NewHider(nil)); got != "99 \uFFFD" {
		t.Errorf("%q", got)
	}
}
