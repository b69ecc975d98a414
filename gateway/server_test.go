package gateway

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func until(t testing.TB, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it has not come to that")
		}
	}
}

// Without an open episode's token and its own key there is nothing, whatever the path; with both there are three pages.
func TestKeysAndPaths(t *testing.T) {
	policy := &scripted{script: []string{spoken("secret of mine")}}
	mine := play(t, policy, nil)
	other := playAt(t, mine.server, policy, nil)
	mine.says(said("user", "go"))
	base, token := strings.TrimSuffix(mine.URL, "/e/"+mine.token+"/v1"), mine.token
	body := `{"model":"m","messages":[` + said("user", "go") + `]}`
	for _, c := range []struct {
		method, path, key string
		status            int
	}{
		{"POST", "/e/" + token + "/v1/chat/completions", "Bearer " + mine.Key, 200},
		{"POST", "/e/" + token + "/v1/chat/completions", "", 401},
		{"POST", "/e/" + token + "/v1/chat/completions", mine.Key, 401},
		{"POST", "/e/" + token + "/v1/chat/completions", "Bearer " + mine.Key + "x", 401},
		{"POST", "/e/" + token + "/v1/chat/completions", "Bearer " + other.Key, 401},
		{"POST", "/e/" + other.token + "/v1/chat/completions", "Bearer " + mine.Key, 401},
		{"POST", "/e/" + strings.Repeat("a", 26) + "/v1/chat/completions", "Bearer " + mine.Key, 401},
		{"GET", "/e/" + token + "/v1/chat/completions", "Bearer " + mine.Key, 405},
		{"POST", "/e/" + token + "/v1/models", "Bearer " + mine.Key, 405},
		{"GET", "/e/" + token + "/v1/models", "Bearer " + mine.Key, 200},
		{"GET", "/e/" + token + "/v1/models/run@000001", "Bearer " + mine.Key, 200},
		{"GET", "/e/" + token + "/v1/models/gpt-4.1", "Bearer " + mine.Key, 404},
		{"GET", "/e/" + token + "/v1/models", "Bearer " + other.Key, 401},
		{"POST", "/e/" + token + "/v1/../../" + other.token + "/v1/chat/completions", "Bearer " + mine.Key, 404},
		{"POST", "/e/" + token + "/v1/%2e%2e/chat/completions", "Bearer " + mine.Key, 404},
		{"POST", "/e/" + token + "/v1//chat/completions", "Bearer " + mine.Key, 404},
		{"POST", "/e/" + token + "%2fv1/chat/completions", "Bearer " + mine.Key, 404},
		{"POST", "//e/" + token + "/v1/chat/completions", "Bearer " + mine.Key, 404},
		{"POST", "/e//v1/chat/completions", "Bearer " + mine.Key, 404},
		{"POST", "/v1/chat/completions", "Bearer " + mine.Key, 404},
		{"POST", "/e/" + token + "/v1/embeddings", "Bearer " + mine.Key, 404},
		{"GET", "/", "", 404},
	} {
		status, answer := raw(t, base, c.method, c.path, c.key, body)
		if status != c.status {
			t.Errorf("%s %s: %d, not %d", c.method, c.path, status, c.status)
		}
		if status != 200 && (strings.Contains(answer, "secret") || strings.Contains(answer, mine.Key) || !strings.Contains(answer, `"error"`)) {
			t.Errorf("%s %s: %s", c.method, c.path, answer)
		}
	}
	mine.close()
	if status, _ := raw(t, base, "GET", "/e/"+token+"/v1/models", "Bearer "+mine.Key, ""); status != 401 {
		t.Errorf("after its end an episode answers %d", status)
	}
}

// raw sends a request whose path no client touches.
func raw(t *testing.T, base, method, path, key, body string) (status int, answer string) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if key != "" {
		key = "Authorization: " + key + "\r\n"
	}
	fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%sContent-Length: %d\r\n\r\n%s", method, path, key, len(body), body)
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Sscanf(string(b), "HTTP/1.1 %d", &status)
	return status, string(b)
}

// A body of 50 MB is refused, whether its length is told or not; one that never comes is given up.
func TestLargeAndSlowClients(t *testing.T) {
	w := play(t, &scripted{script: []string{spoken("one")}}, nil)
	before := heap()
	large := strings.NewReader(strings.Repeat("x", 50<<20))
	for _, body := range []io.Reader{large, io.MultiReader(strings.NewReader(strings.Repeat("y", 50<<20)))} {
		r, err := http.NewRequest("POST", w.URL+"/chat/completions", body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+w.Key)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			continue // the connection was cut while the body was on its way
		}
		res.Body.Close()
		if res.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%d", res.StatusCode)
		}
	}
	c, err := net.Dial("tcp", strings.TrimPrefix(w.server.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST /e/%s/v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthor", w.token)
	began := time.Now()
	c.SetReadDeadline(time.Now().Add(3 * headerTime))
	if _, err := io.ReadAll(c); err != nil || time.Since(began) > 2*headerTime {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
	if grown := heap() - before; grown > 32<<20 {
		t.Errorf("%d MiB more in use", grown>>20)
	}
}

// 500 episodes at once, each with its own conversation: all are served, and nobody hears of another's.
func TestFiveHundredEpisodes(t *testing.T) {
	policy := &scripted{script: []string{spoken("one"), spoken("two"), spoken("three")}}
	s, err := Listen("127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	before := heap()
	var all sync.WaitGroup
	for i := range 500 {
		w := playAt(t, s, policy, nil)
		all.Go(func() {
			mine := fmt.Sprintf("I am episode %d", i)
			messages := []string{said("user", mine)}
			for _, word := range []string{"one", "two", "three"} {
				if got := w.says(messages...).Choices[0].Message.Content; got == nil || *got != word {
					t.Errorf("episode %d was told %v, not %s", i, got, word)
				}
				messages = append(messages, spoken(word), said("user", mine+" still"))
			}
			got := w.ended()
			oneHistory(t, got)
			for _, m := range got.Messages() {
				if m.Role == "user" && !strings.HasPrefix(m.Content, mine) {
					t.Errorf("episode %d has %q", i, m.Content)
				}
			}
		})
	}
	all.Wait()
	if n := len(s.episodes); n != 0 {
		t.Errorf("%d episodes are left open", n)
	}
	http.DefaultClient.CloseIdleConnections()
	if grown := heap() - before; grown > 32<<20 {
		t.Errorf("%d MiB more in use", grown>>20)
	}
}

// heap is the memory in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
