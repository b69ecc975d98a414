package s3_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/longhaul-rl/longhaul/infra/dev/s3"
)

// A child is this test binary again: it writes objects and prints the key of each one that was acknowledged.
const (
	childDir   = "LONGHAUL_TEST_S3_DIR"
	childRound = "LONGHAUL_TEST_S3_ROUND"
	childLimit = "LONGHAUL_TEST_S3_LIMIT" // bytes that a file may have; 0: no limit
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := child(dir, os.Getenv(childRound), os.Getenv(childLimit)); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child writes until it is killed or, with a limit, until every one of its writers has been refused a few times.
func child(dir, round, limit string) error {
	if n, _ := strconv.Atoi(limit); n > 0 {
		signal.Ignore(syscall.SIGXFSZ) // then a write beyond the limit fails, like one to a full disk
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: uint64(n), Max: uint64(n)}); err != nil {
			return err
		}
	}
	server, err := s3.Open(dir, keys)
	if err != nil {
		return err
	}
	c := near(server)
	var wg sync.WaitGroup
	var mu sync.Mutex
	for w := range 8 {
		wg.Go(func() {
			for i, refused := 0, 0; refused < 3; i++ {
				key := fmt.Sprintf("r%s/w%d/%d", round, w, i%40) // keys are overwritten in the end
				err := put(context.Background(), c, key, acknowledged(key, i))
				mu.Lock()
				if err != nil {
					refused++
					fmt.Println("refused", err)
				} else {
					fmt.Println("put", key, i)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return nil
}

// acknowledged is what writer i of a key wrote: mostly small, sometimes a blob.
func acknowledged(key string, i int) []byte {
	size := 100 + 37*i%3000
	if i%5 == 0 {
		size = 70<<10 + i
	}
	return content(fmt.Sprint(key, "#", i), size)
}

// run starts a child, kills it after a while (never when after is 0), and returns the newest acknowledged write of
// each key and what was refused.
func run(t *testing.T, dir string, round, limit int, after time.Duration) (acked map[string]int, refused []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir, childRound+"="+strconv.Itoa(round), childLimit+"="+strconv.Itoa(limit))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	acked = map[string]int{}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if len(acked) == 0 && after > 0 { // the clock starts when it works
			time.AfterFunc(after, func() { cmd.Process.Kill() })
		}
		f := strings.Fields(lines.Text())
		switch f[0] {
		case "put":
			acked[f[1]], _ = strconv.Atoi(f[2])
		case "refused":
			refused = append(refused, lines.Text())
		default:
			t.Error(lines.Text())
		}
	}
	cmd.Wait()
	return acked, refused
}

// check holds the store against what was acknowledged. A later write that was not acknowledged may be there too.
func check(t *testing.T, dir string, acked map[string]int) {
	t.Helper()
	server := open(t, dir)
	defer server.Close()
	c := near(server)
	for key, i := range acked {
		got, err := get(t.Context(), c, key, "")
		if err != nil {
			t.Errorf("%s was acknowledged: %v", key, err)
			continue
		}
		if !bytes.Equal(got, acknowledged(key, i)) && !bytes.Equal(got, acknowledged(key, i+40)) {
			t.Errorf("%s: %d bytes %.30q are not what was acknowledged", key, len(got), got)
		}
	}
	blobs := 0
	for p := sdk.NewListObjectsV2Paginator(c, &sdk.ListObjectsV2Input{Bucket: bucket}); p.HasMorePages(); {
		page, err := p.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range page.Contents {
			if *o.Size > 64<<10 {
				blobs++
			}
		}
	}
	if files, err := os.ReadDir(filepath.Join(dir, "blobs")); err != nil || len(files) != blobs {
		t.Errorf("%d blobs for %d objects, %v", len(files), blobs, err)
	}
}

// A process that is killed at any moment loses no acknowledged write, and leaves no garbage behind.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	all := map[string]int{}
	for round := range 5 {
		acked, refused := run(t, dir, round, 0, time.Duration(20+rand.IntN(250))*time.Millisecond)
		if len(acked) == 0 || len(refused) > 0 {
			t.Fatalf("round %d: %d acknowledged, refused: %v", round, len(acked), refused)
		}
		for k, i := range acked {
			all[k] = i
		}
		check(t, dir, all)
	}
	t.Logf("%d keys acknowledged", len(all))
}

// A write for which there is no room is refused with the reason, and what was acknowledged before it stays. The
// limit on file size stands for a full disk: the same writes fail at the same places.
func TestFull(t *testing.T) {
	for limit, what := range map[int]string{50 << 10: "neither blobs nor a growing index", 400 << 10: "no growing index"} {
		dir := t.TempDir()
		acked, refused := run(t, dir, 0, limit, 0)
		if len(refused) == 0 {
			t.Fatalf("room for %s: nothing was refused", what)
		}
		for _, r := range refused {
			if !strings.Contains(r, "InsufficientStorage") || !strings.Contains(r, "file too large") {
				t.Errorf("room for %s: %s", what, r)
			}
		}
		check(t, dir, acked)
		t.Logf("room for %s: %d keys acknowledged, %d refused", what, len(acked), len(refused))
	}
}
