package tiny

import (
	"container/list"
	"slices"
	"sync"

	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// cacheBytes bounds the key-value caches that wait for their conversation's next turn.
const cacheBytes = 256 << 20

// caches keeps the key-value caches of finished requests. The next turn of a conversation begins with the tokens of
// the last one, finds its cache by them, and computes only what is new. A cache is taken out while it is in use,
// so no two requests share one. What is found changes the time an answer takes and nothing else.
type caches struct {
	most int // caches kept

	mu     sync.Mutex
	recent list.List // of *cached, most recently used first; those without a model, which are free, at the end
	byHash map[uint64][]*list.Element
	bytes  int
}

type cached struct {
	model  *nn.Model // nil: only the memory is of use
	shape  nn.Config
	tokens []int32 // what the cache holds
	hash   uint64
	seq    *nn.Seq
}

func newCaches(most int) *caches {
	return &caches{most: most, byHash: map[uint64][]*list.Element{}}
}

// take gives a cache for a prompt: one that holds the longest known beginning of it (at least one token is left to
// compute), else an empty one.
func (c *caches) take(m *nn.Model, prompt []int32) *nn.Seq {
	hashes := make([]uint64, len(prompt))
	h := uint64(hashStart)
	for i, id := range prompt[:len(prompt)-1] {
		h = hashNext(h, id)
		hashes[i] = h
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for n := len(prompt) - 1; n > 0; n-- {
		for _, at := range c.byHash[hashes[n-1]] {
			if e := at.Value.(*cached); e.model == m && slices.Equal(e.tokens, prompt[:n]) {
				c.remove(at)
				return e.seq
			}
		}
	}
	return c.empty(m)
}

// empty reuses the memory of the oldest cache when there is no room for one more, or when it is free.
func (c *caches) empty(m *nn.Model) *nn.Seq {
	if at := c.recent.Back(); at != nil {
		e := at.Value.(*cached)
		if e.model == nil || c.recent.Len() >= c.most || c.bytes+seqBytes(m.Config) > cacheBytes {
			c.remove(at)
			if e.shape == m.Config {
				e.seq.N = 0
				return e.seq
			}
		}
	}
	return m.NewSeq()
}

// give puts back a cache that holds tokens.
func (c *caches) give(m *nn.Model, tokens []int32, seq *nn.Seq) {
	e := &cached{model: m, shape: m.Config, tokens: tokens, hash: hashStart, seq: seq}
	for _, id := range tokens {
		e.hash = hashNext(e.hash, id)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byHash[e.hash] = append(c.byHash[e.hash], c.recent.PushFront(e))
	c.bytes += seqBytes(m.Config)
	for c.recent.Len() > c.most || c.bytes > cacheBytes {
		c.remove(c.recent.Back())
	}
}

// forget frees the caches of a model that is no longer served.
func (c *caches) forget(m *nn.Model) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var next *list.Element
	for at := c.recent.Front(); at != nil; at = next {
		next = at.Next()
		if e := at.Value.(*cached); e.model == m && m != nil {
			c.remove(at)
			e.model, e.tokens = nil, nil
			c.recent.PushBack(e)
			c.bytes += seqBytes(e.shape)
		}
	}
}

func (c *caches) remove(at *list.Element) {
	e := c.recent.Remove(at).(*cached)
	c.bytes -= seqBytes(e.shape)
	if rest := slices.DeleteFunc(c.byHash[e.hash], func(x *list.Element) bool { return x == at }); len(rest) > 0 {
		c.byHash[e.hash] = rest
	} else {
		delete(c.byHash, e.hash)
	}
}

// seqBytes is the memory of a cache.
func seqBytes(c nn.Config) int { return 2 * 4 * c.L * c.D * ((c.Ctx + 31) / 32 * 32) }

// hashStart and hashNext are FNV-1a over token ids (G. Fowler, L. C. Noll, K.-P. Vo), a whole id at a time.
const hashStart = 14695981039346656037

func hashNext(h uint64, id int32) uint64 { return (h ^ uint64(uint32(id))) * 1099511628211 }
