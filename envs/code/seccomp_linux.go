package code

import (
	"bytes"
	"encoding/binary"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/longhaul-rl/longhaul/rl"
)

// architectures are those that a filter can be written for: what the kernel calls them.
var architectures = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// denied are the system calls that no program needs which a model writes to solve a task. The first ones make memory that
// belongs to no process and counts for no limit; the others are doors into the kernel that are seldom used, and often broken.
var denied = []uint32{
	unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET, unix.SYS_SHMGET, unix.SYS_MSGGET, unix.SYS_SEMGET, unix.SYS_MQ_OPEN,
	unix.SYS_IO_URING_SETUP, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_OPEN_TREE,
	unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FANOTIFY_INIT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_QUOTACTL, unix.SYS_SYSLOG,
}

// families are the kinds of sockets that there are in a network of one's own. Others, such as those to the machine that a virtual one
// runs on, are in no such network, or doors into the kernel.
var families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6}

// x32 marks the numbers of a second set of system calls, on amd64.
const x32 = 0x40000000

// filter is a seccomp program under which the denied calls fail with EPERM, and other architectures' calls end the process.
func filter() ([]byte, error) {
	arch, known := architectures[runtime.GOARCH]
	if !known {
		return nil, rl.Errorf(rl.Invalid, "env.code.sandbox", "bubblewrap is not supported on %s: use micropython, or a container", runtime.GOARCH)
	}
	const load, equal, above, give = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	program := []unix.SockFilter{
		{Code: load, K: 4}, // seccomp_data.arch
		{Code: equal, Jt: 1, K: arch},
		{Code: give, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: load, K: 0}, // seccomp_data.nr
	}
	// Jumps are over so many instructions: here to the last but one, which refuses; the last allows.
	refuse := uint8(len(denied) + 2 + len(families))
	program = append(program, unix.SockFilter{Code: above, Jt: refuse, K: x32})
	for _, call := range denied {
		refuse--
		program = append(program, unix.SockFilter{Code: equal, Jt: refuse, K: call})
	}
	program = append(program, unix.SockFilter{Code: equal, Jf: refuse, K: unix.SYS_SOCKET}, unix.SockFilter{Code: load, K: 16}) // seccomp_data.args[0]
	for i, family := range families {
		program = append(program, unix.SockFilter{Code: equal, Jt: uint8(len(families) - i), K: family})
	}
	program = append(program, unix.SockFilter{Code: give, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}, unix.SockFilter{Code: give, K: unix.SECCOMP_RET_ALLOW})
	var b bytes.Buffer
	if err := binary.Write(&b, binary.NativeEndian, program); err != nil {
		return nil, rl.Errorf(rl.Invalid, at, "the filter of system calls: %w", err)
	}
	return b.Bytes(), nil
}
