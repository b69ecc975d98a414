"""The store, as the job needs it: whole objects with conditions, and files as chunks (store/objects.go, store/chunks.go).

Files go to and from the disk a piece at a time: what is in memory does not grow with them.
"""

import base64
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, IncompleteReadError, ReadTimeoutError, ResponseStreamingError
from urllib3.exceptions import HTTPError

from .answers import clock, kind_of, status
from .disk import PARALLEL, PIECE, Slice, digest, parallel, write
from .failure import Failure

CHUNK = 64 << 20  # bytes; every chunk of a file but the last has as many
ATTEMPTS = 5  # at a request, by the SDK
TRIES = 3  # at a body that breaks off or arrives damaged

Told = Callable[[int], None]  # hears of bytes as they are done with; from several threads


@dataclass(frozen=True)
class Object:
    body: bytes
    etag: str
    now: float  # seconds since 1970 by the store's clock, which all jobs share


def sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def chunk_key(sum: str) -> str:
    return f"cas/sha256/{sum[:2]}/{sum}"


class Store:
    """One bucket and prefix. Safe for concurrent use. Failures: not_found, corrupt, refused, unavailable."""

    def __init__(self, bucket: str, prefix: str = ""):
        """Takes region, endpoint and credentials from where the AWS SDK finds them."""
        self.bucket, self.prefix = bucket, prefix
        custom = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        config = Config(
            retries={"mode": "standard", "max_attempts": ATTEMPTS},
            connect_timeout=10,
            read_timeout=60,
            max_pool_connections=4 * PARALLEL,
            response_checksum_validation="when_required",  # every body is held against the sha256 that refers to it
            s3={"addressing_style": "path"} if custom else None,
        )
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ("us-east-1" if custom else None)
        self.s3 = self._tried("", "opened", lambda: boto3.session.Session().client("s3", region_name=region, config=config))

    def at(self, key: str) -> str:
        return f"store s3://{self.bucket}/{self.prefix}{key}"

    def get(self, key: str) -> Object:
        """A whole object, which fits into memory."""

        def once() -> Object:
            out = self.s3.get_object(Bucket=self.bucket, Key=self.prefix + key)
            return Object(out["Body"].read(), out["ETag"], clock(out))

        return self._tried(key, "read", once)

    def find(self, key: str) -> Object | None:
        """get, with None where there is nothing."""
        try:
            return self.get(key)
        except Failure as failure:
            if failure.kind == "not_found":
                return None
            raise

    def read(self, ref: dict) -> bytes:
        """What a reference names, checked."""
        for _ in range(TRIES):
            body = self.get(ref["key"]).body
            if sha256(body) == ref["sha256"]:
                return body
        raise Failure("corrupt", self.at(ref["key"]), f"its sha256 is {sha256(body):.12}, not {ref['sha256']:.12} as was recorded")

    def put(self, key: str, body: bytes, etag: str | None = None, new: bool = False) -> bool:
        """Writes an object: whatever is there, only over the one with an etag, or only where there is none. False: the condition
        did not hold. It may have held all the same, and only the answer have been lost: who needs to know reads the object."""
        condition = {"IfNoneMatch": "*"} if new else {"IfMatch": etag} if etag else {}
        return self._send(key, body, hashlib.sha256(body).digest(), condition)

    def fetch(self, file: dict, path: Path, told: Told = lambda n: None) -> None:
        """Makes path the content of a manifest's file. Chunks that it holds already are not asked for again."""
        chunks, size, where = file["chunks"], file["size"], self.at(f"file {file['name']}")
        if len(chunks) != -(-size // CHUNK):
            raise Failure("corrupt", where, f"{len(chunks)} chunks cannot hold {size} bytes")
        had = path.stat().st_size if path.exists() else 0
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.truncate(fd, size)

            def one(i: int) -> None:
                at = i * CHUNK
                n = min(CHUNK, size - at)
                if at + n > had or digest(fd, at, n).hex() != chunks[i]:
                    self._download(chunks[i], fd, at, n)
                told(n)

            parallel(one, range(len(chunks)))
            if len(chunks) != 1 or file["sha256"] != chunks[0]:
                if (sum := digest(fd, 0, size).hex()) != file["sha256"]:
                    raise Failure("corrupt", where, f"its chunks make sha256 {sum:.12}, not {file['sha256']:.12}")
        finally:
            os.close(fd)

    def send(self, path: Path, told: Told = lambda n: None) -> dict:
        """Stores a file's chunks, those excepted that are there and whole, and returns its entry for a manifest."""
        size = path.stat().st_size
        fd = os.open(path, os.O_RDONLY)
        try:

            def one(at: int) -> str:
                n = min(CHUNK, size - at)
                sum = digest(fd, at, n)
                if not self.holds(sum.hex()):
                    self._send(chunk_key(sum.hex()), Slice(fd, at, n), sum, {})
                told(n)
                return sum.hex()

            chunks = parallel(one, range(0, size, CHUNK))
            whole = chunks[0] if len(chunks) == 1 else digest(fd, 0, size).hex()
        finally:
            os.close(fd)
        return {"name": path.name, "size": size, "sha256": whole, "chunks": chunks}

    def holds(self, sum: str) -> bool:
        """Whether a chunk is there and whole. It is read to its end: no checkpoint may be built on one that only looks stored."""
        try:
            return self._stream(sum, lambda piece, at: None)[0] == sum
        except Failure as failure:
            if failure.kind == "not_found":
                return False
            raise

    def _download(self, sum: str, fd: int, at: int, size: int) -> None:
        def keep(piece: bytes, done: int) -> None:
            if done + len(piece) <= size:  # never into the next chunk
                write(fd, piece, at + done)

        for _ in range(TRIES):
            got, n = self._stream(sum, keep)
            if (got, n) == (sum, size):
                return
        raise Failure("corrupt", self.at(chunk_key(sum)), f"it is {n} bytes with sha256 {got:.12}, not {size}")

    def _stream(self, sum: str, take: Callable[[bytes, int], None]) -> tuple[str, int]:
        """Reads a chunk in pieces; returns the sha256 and the length of what came."""

        def once() -> tuple[str, int]:
            got, n = hashlib.sha256(), 0
            body = self.s3.get_object(Bucket=self.bucket, Key=self.prefix + chunk_key(sum))["Body"]
            for piece in body.iter_chunks(PIECE):
                got.update(piece)
                take(piece, n)
                n += len(piece)
            return got.hexdigest(), n

        return self._tried(chunk_key(sum), "read", once)

    def _send(self, key: str, body, sum: bytes, condition: dict[str, str]) -> bool:
        def once() -> bool:
            checksum = base64.b64encode(sum).decode()
            self.s3.put_object(Bucket=self.bucket, Key=self.prefix + key, Body=body, ChecksumSHA256=checksum, **condition)
            return True

        try:
            return self._tried(key, "written", once)
        except Failure as failure:
            if condition and failure.kind in ("conflict", "not_found") and status(failure.__cause__) in (404, 412):
                return False
            raise

    def _tried(self, key: str, done: str, once: Callable):
        """once, again where a body broke off, with its errors as Failures."""
        for left in reversed(range(TRIES)):
            try:
                return once()
            except (BotoCoreError, ClientError, HTTPError, OSError) as e:
                if not left or not isinstance(e, (ReadTimeoutError, ResponseStreamingError, IncompleteReadError, HTTPError)):
                    raise Failure(kind_of(e), self.at(key), f"it cannot be {done}: {e}") from e
