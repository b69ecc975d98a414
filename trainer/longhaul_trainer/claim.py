"""The claim on a job: who works on it, until when. It saves work being done twice; that an update counts once is the result's."""

import calendar
import json
import secrets
import sys
import threading
import time
from collections.abc import Callable

from .failure import Failure
from .store import Object, Store

SCHEMA = "longhaul/claim/1"
LEASE, RENEW = 60.0, 15.0  # seconds that a claim holds, and between renewals
POLL = 1.0  # seconds between looks at another's claim


class Claim:
    """jobs/KEY/claim.json. Times are by the store's clock; the token tells attempts of one owner apart."""

    def __init__(self, store: Store, key: str, owner: str, lease: float = LEASE, renew: float = RENEW):
        self.store, self.key, self.owner, self.lease, self.renew = store, key, owner, lease, renew
        self.token = secrets.token_hex(8)
        self.lost = False
        self.mine = b""
        self.etag = ""
        self.stop = threading.Event()
        self.renewing: threading.Thread | None = None

    def take(self, done: Callable[[], bool], waiting: Callable[[str], None]) -> bool:
        """Waits until the claim is this owner's; False when the job was done meanwhile. Its predecessor of the same name cannot run
        any more, so that its claim is taken over at once. Failure: conflict when the claim is of a schema that is not known."""
        while True:
            held = self.store.find(self.key)
            now = held.now if held else time.time()
            who, until = self.read(held) if held else (self.owner, 0.0)
            if who == self.owner or until <= now:
                if self.write(held.etag if held else None, now):
                    return True
                continue
            waiting(f"the claim of {who}")
            if done():
                return False
            time.sleep(min(POLL, until - now))

    def read(self, held: Object) -> tuple[str, float]:
        """Owner and end of a claim; of one that is damaged, nobody's and long ago."""
        try:
            claim = json.loads(held.body)
            schema, owner, until = claim["schema"], claim["owner"], parse(claim["until"])
        except (ValueError, KeyError, TypeError):
            return "", 0.0
        if schema != SCHEMA:
            raise Failure("conflict", self.store.at(self.key), f"{owner} claims the job by {schema!r}, and this trainer knows {SCHEMA!r}")
        return owner, until

    def write(self, etag: str | None, now: float) -> bool:
        """Writes the claim anew: over the one with an etag, or where there is none. False: another was faster."""
        body = self.body(now + self.lease)
        self.store.put(self.key, body, etag=etag, new=etag is None)
        # Read back, also where the condition did not hold: the write may have come through and its answer not.
        held = self.store.find(self.key)
        if not held or held.body != body:
            return False
        self.mine, self.etag = body, held.etag
        return True

    def keep(self, lost: Callable[[], None]) -> None:
        """Renews the claim in the background until release; calls lost once it is another's."""

        def renewing() -> None:
            while not self.stop.wait(self.renew):
                try:
                    held = self.store.find(self.key)
                    if not held or held.body == self.mine:
                        ours = self.write(held.etag if held else None, held.now if held else time.time())
                    else:
                        ours = False
                except Failure as failure:  # no answer: the result decides all the same
                    print(f"the claim cannot be renewed: {failure}", file=sys.stderr)
                    continue
                if not ours:
                    self.lost = True
                    lost()
                    return

        self.renewing = threading.Thread(target=renewing, daemon=True)
        self.renewing.start()

    def release(self) -> None:
        """Lets the next one begin at once."""
        self.stop.set()
        if self.renewing:
            self.renewing.join(5)  # it may be waiting for a store that does not answer
        if not self.mine or self.lost:
            return
        self.store.put(self.key, self.body(0), etag=self.etag)

    def body(self, until: float) -> bytes:
        return json.dumps({"schema": SCHEMA, "owner": self.owner, "token": self.token, "until": render(until)}).encode()


def render(t: float) -> str:
    """RFC 3339, as Go writes a time."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(t))


def parse(s: str) -> float:
    return float(calendar.timegm(time.strptime(s, "%Y-%m-%dT%H:%M:%SZ")))
