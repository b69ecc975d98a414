package render

// Style is what the reader's terminal can show. The zero Style is plain Unicode text.
type Style struct {
	Color bool // ANSI colours
	ASCII bool // no characters beyond ASCII in what render draws itself
}

// Colours, by what they mean here.
const (
	good  = "32" // green
	bad   = "31" // red
	faint = "2"
	heavy = "1"
)

func (s Style) paint(tone, text string) string {
	if !s.Color || tone == "" || text == "" {
		return text
	}
	return "\x1b[" + tone + "m" + text + "\x1b[0m"
}

func (s Style) pick(unicode, ascii string) string {
	if s.ASCII {
		return ascii
	}
	return unicode
}
