package render

import "testing"

func TestInert(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ttext\nünder \x1b[1;32mgreen\x1b[0m": "plain\ttext\nünder \x1b[1;32mgreen\x1b[0m",
		"\x1b]52;c;ZXZpbA==\x07":                    "\uFFFD]52;c;ZXZpbA==\uFFFD", // the clipboard
		"\x1b]0;title\x1b\\":                        "\uFFFD]0;title\uFFFD\\",
		"up\x1b[2Aand over\x1b[2K":                  "up\uFFFD[2Aand over\uFFFD[2K",
		"1 %\r2 %":                                  "1 % 2 %",
		"\u009b2J\x00\x08\x7f":                      "\uFFFD2J\uFFFD\uFFFD\uFFFD",
	} {
		if got := Inert(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
