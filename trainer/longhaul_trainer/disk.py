"""Stretches of files, read and written without holding them, several at once."""

import hashlib
import io
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

PIECE = 1 << 20  # bytes in memory
PARALLEL = 4  # stretches at once


def parallel(do: Callable, items: Iterable) -> list:
    """do of each, a few at a time; the first failure ends it."""
    with ThreadPoolExecutor(PARALLEL) as pool:
        work = [pool.submit(do, item) for item in items]
        try:
            return [one.result() for one in work]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def digest(fd: int, at: int, size: int) -> bytes:
    """The sha256 of a stretch of a file."""
    sum = hashlib.sha256()
    for start in range(at, at + size, PIECE):
        sum.update(os.pread(fd, min(PIECE, at + size - start), start))
    return sum.digest()


def write(fd: int, piece: bytes, at: int) -> None:
    while piece:
        n = os.pwrite(fd, piece, at)
        piece, at = piece[n:], at + n


class Slice(io.RawIOBase):
    """A stretch of a file, to be read and rewound as if it were one."""

    def __init__(self, fd: int, start: int, size: int):
        self.fd, self.start, self.size, self.position = fd, start, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self.position = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self.position, os.SEEK_END: self.size}[whence]
        return self.position

    def readinto(self, into) -> int:
        n = min(len(into), self.size - self.position)
        piece = os.pread(self.fd, n, self.start + self.position)
        into[: len(piece)] = piece
        self.position += len(piece)
        return len(piece)
