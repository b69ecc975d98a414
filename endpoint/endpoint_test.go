package endpoint

import (
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2015, 10, 21, 7, 28, 0, 0, time.UTC)
	for v, want := range map[string]time.Duration{
		"": 0, "3": 3 * time.Second, "0.5": 500 * time.Millisecond, "-1": 0, "soon": 0, "NaN": 0, "1e300": maxWait,
		"Wed, 21 Oct 2015 07:28:09 GMT": 9 * time.Second, "Wed, 21 Oct 2015 07:27:00 GMT": 0, "Wed, 21 Oct 2099 07:27:00 GMT": maxWait,
	} {
		if got := retryAfter(v, now); got != want {
			t.Errorf("%q: %v, want %v", v, got, want)
		}
	}
}
