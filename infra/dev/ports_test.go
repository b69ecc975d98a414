package dev

import (
	"net"
	"testing"
)

func TestFreePortsAreDifferentAndFree(t *testing.T) {
	for range 20 {
		ports, err := freePorts(100)
		if err != nil || len(ports) != 100 {
			t.Fatalf("%d ports, %v", len(ports), err)
		}
		seen := map[int]bool{}
		for _, p := range ports {
			if seen[p] {
				t.Fatalf("port %d was given twice", p)
			}
			seen[p] = true
		}
		l, err := net.Listen("tcp", addr(ports[0]))
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
}
