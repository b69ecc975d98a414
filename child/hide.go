package child

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
)

// leastSecret is the shortest value that is hidden, in bytes: a shorter one is no secret, and would be in every other word.
const leastSecret = 6

// Hider puts the names of secrets in their places: in what is recorded, logged or an error.
type Hider struct {
	names  *strings.Replacer
	values []string // in every form in which they are hidden
}

// NewHider hides values, by which their names are known here. Of "Bearer KEY" and the like, KEY alone is hidden, too; of a value of
// several lines, such as a private key, each line by itself; and all of it as JSON writes it in a text.
func NewHider(secrets map[string]string) *Hider {
	named := map[string]string{}
	for value, name := range secrets {
		for _, line := range append(strings.Split(value, "\n"), value) {
			line = strings.TrimSpace(line)
			for _, v := range []string{line, line[strings.LastIndexByte(line, ' ')+1:], inJSON(line)} {
				if len(v) >= leastSecret {
					named[v] = "[" + name + "]"
				}
			}
		}
	}
	h := &Hider{values: slices.Collect(maps.Keys(named))}
	slices.SortFunc(h.values, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }) // one may begin with another
	var pairs []string
	for _, v := range h.values {
		pairs = append(pairs, v, named[v])
	}
	h.names = strings.NewReplacer(pairs...)
	return h
}

// inJSON is a text as it stands between the quotes of one in JSON.
func inJSON(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // of a text it cannot fail
	return b.String()[1 : b.Len()-2]
}

// Replace is a text without the secrets.
func (h *Hider) Replace(text string) string { return h.names.Replace(text) }

// rest is the end of a longer text without the secrets, that which the cut went through among them.
func (h *Hider) rest(text string) string {
	for {
		most := 0 // bytes that a secret may end with
		for _, v := range h.values {
			for n := min(len(v), len(text)); n > most; n-- {
				if strings.HasPrefix(text, v[len(v)-n:]) {
					most = n
				}
			}
		}
		if most == 0 {
			return h.Replace(text)
		}
		text = text[most:] // what follows may be the end of the one after it
	}
}

// Error is an error whose words are without the secrets.
func (h *Hider) Error(err error) error { return hidden{err, h.Replace(err.Error())} }

type hidden struct {
	error
	words string
}

func (h hidden) Error() string { return h.words }
func (h hidden) Unwrap() error { return h.error }

// Tail keeps the last Keep bytes that are written to it. It is safe for concurrent use.
type Tail struct {
	Keep int

	mu  sync.Mutex
	b   []byte // more than Keep: secrets have longer names
	cut bool
}

// Write never fails.
func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	if over := len(t.b) - 2*t.Keep; over > t.Keep { // not each time
		t.b, t.cut = append(t.b[:0], t.b[over:]...), true
	}
	return len(b), nil
}

// Text is what is kept, without secrets. What is no UTF-8 is replaced.
func (t *Tail) Text(hide *Hider) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := ""
	if t.cut {
		text = hide.rest(string(t.b))
	} else {
		text = hide.Replace(string(t.b))
	}
	return strings.ToValidUTF8(text[max(0, len(text)-t.Keep):], "\uFFFD")
}
