"""What a job tells of itself: jobs/KEY/progress.json, which UpdatePolicy turns into heartbeats."""

import json
import sys
import threading

from .failure import Failure
from .store import Store

SCHEMA = "longhaul/progress/1"
EVERY = 2.0  # seconds between two writes at least


class Progress:
    """Writes what was told last, in the background. What cannot be written is left out: the job goes on."""

    def __init__(self, store: Store, key: str, owner: str, attempt: int, every: float = EVERY):
        self.store, self.key, self.every = store, key, every
        self.state = {"schema": SCHEMA, "owner": owner, "attempt": attempt, "what": "", "done": 0, "total": 0}
        self.written = b""
        self.changed, self.stop = threading.Event(), threading.Event()
        self.writing = threading.Thread(target=self._run, daemon=True)
        self.writing.start()

    def tell(self, what: str, done: int = 0, total: int = 0) -> None:
        self.state = self.state | {"what": what, "done": done, "total": total}
        self.changed.set()

    def end(self, what: str, error: Failure | None = None) -> None:
        """The last word."""
        self.stop.set()
        self.changed.set()
        self.writing.join()
        self.state = self.state | {"what": what}
        if error:
            self.state["error"] = {"kind": error.kind, "message": str(error)}
        self._write()

    def _run(self) -> None:
        while not self.stop.is_set():
            self.changed.wait()
            self.changed.clear()
            self._write()
            self.stop.wait(self.every)

    def _write(self) -> None:
        body = json.dumps(self.state).encode()
        if body == self.written:
            return
        try:
            self.store.put(self.key, body)
            self.written = body
        except Failure as failure:
            print(f"progress: {failure}", file=sys.stderr)


class Counted:
    """Adds up what several threads have done."""

    def __init__(self, tell):
        self.done, self.tell, self.lock = 0, tell, threading.Lock()

    def __call__(self, n: int) -> None:
        with self.lock:
            self.done += n
            self.tell(self.done)
