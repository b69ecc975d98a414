# Runs one program in a sandbox, over the working directory that comes as a tar archive on standard input:
#   sh -c THIS sandbox SECONDS FILE_BLOCKS MEMORY_KB PROCESSES KEPT PROGRAM ARGUMENTS...
# It writes "ready" once the directory is there, the program's exit status and the length of its output, a line each, then KEPT
# bytes of that output at most, and then the working directory as a tar archive.
cd /task && tar -xf - || exit 1
echo ready
seconds=$1 blocks=$2 memory=$3 processes=$4 kept=$5
shift 5
(
  ulimit -c 0
  ulimit -n 64 # what sockets and pipes hold is the kernel's memory, which counts for no process
  ulimit -f "$blocks"
  ulimit -v "$memory"
  ulimit -t "$seconds"
  ulimit -u "$processes" 2>/dev/null || ulimit -p "$processes"
  exec timeout -s KILL "$seconds" "$@"
) >/tmp/.output 2>&1 </dev/null
status=$?
kill -9 -1 2>/dev/null # whatever the program left running
length=$(wc -c </tmp/.output)
echo "$status"
echo "$length"
head -c "$kept" /tmp/.output
exec tar -cf - .
