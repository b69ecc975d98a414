package inprocess

import "time"

// idle is how long a goroutine waits for another call before it ends.
const idle = time.Second

// calls hands work to goroutines that have done some before.
var calls = make(chan func())

// run does f in another goroutine, one that waits for work if there is one: its stack has grown already, which for a
// handler of a few dozen microseconds is a quarter of the whole.
func run(f func()) {
	select {
	case calls <- f:
	default:
		go work(f)
	}
}

func work(f func()) {
	wait := time.NewTimer(idle)
	defer wait.Stop()
	for {
		f()
		wait.Reset(idle)
		select {
		case f = <-calls:
		case <-wait.C:
			return
		}
	}
}
