package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/inprocess"
	"github.com/longhaul-rl/longhaul/rl"
)

// vllm behaves as vLLM was seen to (0.32 on a CPU): a paused one lets requests hang, an adapter that it does not know is a
// 404. scripts/vllm.sh holds the client against the real one.
type vllm struct {
	*http.ServeMux
	mu       sync.Mutex
	resumed  chan struct{} // nil: not paused
	adapters map[string]string
	loads    int
	mute     bool // VLLM_SERVER_DEV_MODE is not set
	takes    time.Duration
}

func newVLLM() *vllm {
	v := &vllm{ServeMux: http.NewServeMux(), adapters: map[string]string{}}
	v.HandleFunc("POST /v1/chat/completions", v.chat)
	v.HandleFunc("GET /v1/models", v.models)
	v.HandleFunc("POST /v1/load_lora_adapter", v.load)
	v.HandleFunc("POST /v1/unload_lora_adapter", v.unload)
	for page, pause := range map[string]bool{"POST /pause": true, "POST /sleep": true, "POST /resume": false, "POST /wake_up": false} {
		v.HandleFunc(page, func(w http.ResponseWriter, _ *http.Request) { v.pause(pause) })
	}
	v.HandleFunc("GET /is_paused", func(w http.ResponseWriter, r *http.Request) {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.mute {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `{"is_paused":%v}`, v.resumed != nil)
	})
	return v
}

func (v *vllm) pause(pause bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case pause && v.resumed == nil:
		v.resumed = make(chan struct{})
	case !pause && v.resumed != nil:
		close(v.resumed)
		v.resumed = nil
	}
}

func (v *vllm) chat(w http.ResponseWriter, r *http.Request) {
	var q struct{ Model string }
	json.NewDecoder(r.Body).Decode(&q)
	v.mu.Lock()
	_, known := v.adapters[q.Model]
	resumed := v.resumed
	v.mu.Unlock()
	if !known && q.Model != "base" {
		w.WriteHeader(404)
		fmt.Fprintf(w, "{\"error\":{\"message\":\"The model `%s` does not exist. Valid aliases: base.\",\"type\":\"NotFoundError\",\"param\":\"model\",\"code\":404}}", q.Model)
		return
	}
	if resumed != nil {
		select {
		case <-resumed:
		case <-r.Context().Done():
			return
		}
	}
	time.Sleep(v.takes)
	io.WriteString(w, strings.Replace(embeddedReply, "run@000001", q.Model, 1))
}

func (v *vllm) models(w http.ResponseWriter, _ *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	data := []map[string]string{{"id": "base", "root": "/models/base"}}
	for name, dir := range v.adapters {
		data = append(data, map[string]string{"id": name, "root": dir, "parent": "base"})
	}
	json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data})
}

func (v *vllm) load(w http.ResponseWriter, r *http.Request) {
	var q struct{ Lora_name, Lora_path string }
	json.NewDecoder(r.Body).Decode(&q)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.loads++
	switch _, known := v.adapters[q.Lora_name]; {
	case strings.HasPrefix(q.Lora_path, "/elsewhere"):
		w.WriteHeader(404)
		fmt.Fprintf(w, `{"error":{"message":"Loading lora %s failed: No adapter found for %s","type":"NotFoundError","param":null,"code":404}}`, q.Lora_name, q.Lora_path)
	case known:
		w.WriteHeader(400)
		fmt.Fprintf(w, `{"error":{"message":"The lora adapter '%s' has already been loaded.","type":"InvalidUserInput","param":null,"code":400}}`, q.Lora_name)
	default:
		v.adapters[q.Lora_name] = q.Lora_path
		fmt.Fprintf(w, "Success: LoRA adapter '%s' added successfully.", q.Lora_name)
	}
}

func (v *vllm) unload(w http.ResponseWriter, r *http.Request) {
	var q struct{ Lora_name string }
	json.NewDecoder(r.Body).Decode(&q)
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, known := v.adapters[q.Lora_name]; !known {
		w.WriteHeader(404)
	}
	delete(v.adapters, q.Lora_name)
}

// vllmClient is the client of several of them, by the names a, b ...
func vllmClient(o Options, servers ...*vllm) *Client {
	var list []string
	mux := http.NewServeMux()
	for i, s := range servers {
		host := string(rune('a' + i))
		list = append(list, "http://"+host+"/v1")
		mux.Handle(host+"/", s)
	}
	o.URL, o.Transport = strings.Join(list, ","), inprocess.Transport{Handler: mux}
	return New(o)
}

// A pause of half an hour, by whoever it is, costs neither a turn of a minute nor an episode of five: their clocks stand
// still. What is not paused and does not answer is as late as ever.
func TestPausedServersCostNoTime(t *testing.T) {
	for name, pause := range map[string]func(*Client, context.Context) error{"pause": (*Client).Pause, "sleep": (*Client).Sleep} {
		synctest.Test(t, func(t *testing.T) {
			s := newVLLM()
			c := vllmClient(Options{}, s)
			if err := pause(vllmClient(Options{}, s), t.Context()); err != nil { // another process
				t.Fatal(name, err)
			}
			live, cancel := Within(t.Context(), 5*time.Minute)
			defer cancel()
			q := question("base")
			q.Timeout = time.Minute
			go func() {
				time.Sleep(30 * time.Minute)
				if got := c.Status()[0].State; got != "paused" {
					t.Errorf("%s: %s", name, got)
				}
				if err := errors.Join(c.Wake(t.Context()), c.Resume(t.Context())); err != nil {
					t.Error(err)
				}
			}()
			if _, err := c.Act(live, q); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			time.Sleep(4*time.Minute + 50*time.Second)
			if live.Err() != nil {
				t.Error(name, "the pause was counted")
			}
			time.Sleep(20 * time.Second) // it took a few seconds to notice
			if !errors.Is(live.Err(), context.DeadlineExceeded) {
				t.Error(name, live.Err(), "after the episode's time")
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := newVLLM()
		s.takes = time.Hour
		q := question("base")
		q.Timeout = time.Minute
		began := time.Now()
		_, err := vllmClient(Options{}, s).Act(t.Context(), q)
		if rl.KindOf(err) != rl.Unavailable || errors.Is(err, endpoint.ErrNoReply) || time.Since(began) != time.Minute+blameTimeout {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		time.Sleep(time.Hour)
	})
}

// Where others are replied to, an answer that does not come in time is that conversation's failure; where nobody is, it is an
// outage.
func TestWhoseFaultItIs(t *testing.T) {
	for others, want := range map[time.Duration]bool{time.Second: true, time.Hour: false} {
		synctest.Test(t, func(t *testing.T) {
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if takes := others; strings.Contains(string(body), "order 48") {
					time.Sleep(time.Hour)
				} else {
					time.Sleep(takes)
				}
				io.WriteString(w, embeddedReply)
			})
			c := New(Options{URL: "http://a/v1", Transport: inprocess.Transport{Handler: h}})
			q := question("run@000001")
			q.Timeout = time.Minute
			for range 4 {
				if _, err := c.Act(t.Context(), q); errors.Is(err, endpoint.ErrNoReply) != want || rl.KindOf(err) != rl.Unavailable {
					t.Errorf("others take %v: %v", others, err)
				}
			}
			if got := c.Status()[0].State; (got == "healthy") != want {
				t.Errorf("others take %v: %s", others, got)
			}
			time.Sleep(2 * time.Hour)
		})
	}
}

// One of two servers is paused: its episodes wait, and it is not taken for sick.
func TestAPausedServerIsNotSick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newVLLM(), newVLLM()
		c := vllmClient(Options{}, a, b)
		a.pause(true)
		q := question("base")
		q.Timeout = time.Minute
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				seat, _ := c.Acquire(t.Context())
				defer seat.Release()
				if _, err := seat.Act(t.Context(), q); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(10 * time.Minute)
		if s := c.Status(); s[0].State != "paused" || s[0].InFlight == 0 || s[1].State != "healthy" || s[1].InFlight != 0 {
			t.Errorf("%+v", s)
		}
		a.pause(false)
		all.Wait()
		time.Sleep(pulseEvery) // the last look
	})
}

func TestServersThatCannotPause(t *testing.T) {
	c, _ := canned(t, Options{}, func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) })
	if err := c.Pause(t.Context()); rl.KindOf(err) != rl.Refused || !strings.Contains(err.Error(), "VLLM_SERVER_DEV_MODE=1") {
		t.Error(err)
	}
	if err := New(Options{URL: "http://127.0.0.1:1/v1"}).Pause(t.Context()); err != nil { // nobody there holds a GPU
		t.Error(err)
	}
}

// Adapters: loaded everywhere, once; one that a restarted server has lost is loaded there again, by the first of many
// episodes that miss it; another content makes way; old ones go.
func TestAdapters(t *testing.T) {
	a, b := newVLLM(), newVLLM()
	var c *Client
	var told atomic.Int64
	c = vllmClient(Options{Missing: func(ctx context.Context, url, model string) error {
		told.Add(1)
		return c.AddAdapter(ctx, url, model, "/v/"+model)
	}}, a, b)
	for range 2 {
		if err := c.AddAdapter(t.Context(), "", "run@000001", "/v/run@000001"); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Ready(t.Context(), "run@000001", true); err != nil || a.loads != 1 || b.loads != 1 {
		t.Fatal(err, a.loads, b.loads)
	}
	clear(a.adapters) // it was restarted
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			if r, err := c.Act(t.Context(), question("run@000001")); err != nil || r.Model != "run@000001" {
				t.Error(r, err)
			}
		})
	}
	all.Wait()
	if told.Load() != 1 || a.loads != 2 || b.loads != 1 {
		t.Errorf("told %d times, loads %d and %d", told.Load(), a.loads, b.loads)
	}
	if err := c.AddAdapter(t.Context(), "", "run@000001", "/v/other"); err != nil || a.adapters["run@000001"] != "/v/other" {
		t.Error(err, a.adapters)
	}
	if err := c.DropAdapters(t.Context(), func(name string) bool { return name == "run@000001" }); err != nil || len(a.adapters)+len(b.adapters) != 0 {
		t.Error(err, a.adapters, b.adapters)
	}
	if err := c.AddAdapter(t.Context(), "", "run@000002", "/elsewhere/x"); rl.KindOf(err) != rl.Refused || !strings.Contains(err.Error(), "share under one path") {
		t.Error(err)
	}
	plain, _ := canned(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			io.WriteString(w, `{"data":[]}`)
			return
		}
		says(404, "", `{"detail":"Not Found"}`)(w, r)
	})
	if err := plain.AddAdapter(t.Context(), "", "run@000002", "/v"); rl.KindOf(err) != rl.Refused || !strings.Contains(err.Error(), "VLLM_ALLOW_RUNTIME_LORA_UPDATING=True") {
		t.Error(err)
	}
}
