package main

import "testing"

func TestTotalMemory(t *testing.T) {
	for in, want := range map[string]int64{
		"MemTotal:       16384000 kB\nMemFree:         1 kB\n": 16384000 << 10,
		"MemFree: 1 kB\n":                     0,
		"":                                    0,
		"MemTotal: 99999999999999999999 kB\n": 0,
		"x MemTotal: 5 kB\n":                  0,
	} {
		if got := totalMemory([]byte(in)); got != want {
			t.Errorf("totalMemory(%q) = %d, want %d", in, got, want)
		}
	}
	if got := memoryLimit(); got < leastMemory {
		t.Errorf("memoryLimit() = %d, want at least %d", got, int64(leastMemory))
	}
}

func TestDataFlagCanBePasted(t *testing.T) {
	for data, want := range map[string]string{".longhaul": "", "/var/lib/longhaul-2": " --data /var/lib/longhaul-2", "my runs": " --data 'my runs'", "it's": ` --data 'it'\''s'`} {
		if got := (&app{data: data, usual: ".longhaul"}).dataFlag(); got != want {
			t.Errorf("%s: %q, want %q", data, got, want)
		}
	}
}
