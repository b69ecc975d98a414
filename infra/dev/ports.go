package dev

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
)

const (
	loopback  = "127.0.0.1"
	portsFile = "ports.json"
	// New ports come from below the range that kernels hand out for outgoing connections (from 32768 on
	// Linux, 49152 elsewhere): one from there could be taken between our look at it and the server's bind.
	firstPort, endPort = 20000, 32000
)

// ports remembers which part used which port, so that it can have the same one next time.
type ports struct {
	path  string
	mu    sync.Mutex
	known map[string]int // part's name -> port
}

// openPorts reads what is remembered. Of a damaged file nothing is: the parts get other ports, and a new file.
func openPorts(dir string, log *slog.Logger) (*ports, error) {
	p := &ports{path: at(dir, portsFile), known: map[string]int{}}
	b, err := os.ReadFile(p.path)
	if errors.Is(err, os.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, &p.known); err != nil || p.known == nil {
		log.Warn("the remembered ports cannot be read; the parts get new ones", "file", p.path, "error", err)
		p.known = map[string]int{}
	}
	return p, nil
}

// listen opens the named part's port: the remembered one when it is free, else a new one.
func (p *ports) listen(name string) (net.Listener, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if port := p.known[name]; port != 0 {
		if l, err := net.Listen("tcp", addr(port)); err == nil {
			return l, nil
		}
	}
	l, err := listenFree()
	if err != nil {
		return nil, err
	}
	p.known[name] = portOf(l)
	return l, errors.Join(writeJSON(p.path, p.known))
}

// pick is listen for a server that binds its port itself: the port was free a moment ago.
func (p *ports) pick(name string) (int, error) {
	l, err := p.listen(name)
	if err != nil {
		return 0, err
	}
	return portOf(l), l.Close()
}

// freePorts are n different ports for parts that bind them themselves and that nobody outside this process addresses:
// they were free a moment ago. All are held until the last is known, or one could be given twice.
func freePorts(n int) (all []int, err error) {
	for range n {
		l, err := listenFree()
		if err != nil {
			return nil, err
		}
		defer l.Close()
		all = append(all, portOf(l))
	}
	return all, nil
}

func listenFree() (l net.Listener, err error) {
	for range 100 {
		if l, err = net.Listen("tcp", addr(firstPort+rand.IntN(endPort-firstPort))); err == nil {
			return l, nil
		}
	}
	return nil, fmt.Errorf("no free port on %s: %w", loopback, err)
}

func portOf(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

func addr(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

func url(port int) string { return "http://" + addr(port) }
