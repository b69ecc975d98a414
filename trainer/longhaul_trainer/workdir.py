"""Where a job keeps its files: a directory that the next job finds, for one job at a time."""

import contextlib
import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def directory(kept: str | None) -> Iterator[Path]:
    """Where a job works: the directory that is kept, unless another job is at work there, or a temporary one."""
    with contextlib.ExitStack() as stack:
        if not kept or not locked(Path(kept), stack):
            kept = stack.enter_context(tempfile.TemporaryDirectory(prefix="longhaul-"))
        for left in Path(kept).glob("out-*"):
            shutil.rmtree(left)
        yield Path(kept)


def locked(kept: Path, stack: contextlib.ExitStack) -> bool:
    kept.mkdir(parents=True, exist_ok=True)
    lock = stack.enter_context(open(kept / "lock", "w"))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
