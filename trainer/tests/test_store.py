"""The store against a real S3 server: conditions, files as chunks, memory, and what damage is."""

import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

from longhaul_trainer import store as module
from longhaul_trainer.claim import SCHEMA, Claim, render
from longhaul_trainer.failure import Failure
from longhaul_trainer.progress import Progress
from longhaul_trainer.store import CHUNK, Store, chunk_key, sha256
from stored import TRAINER, Stored


class OnServer(unittest.TestCase):
    def setUp(self):
        self.tmp = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.stored = Stored()
        self.store = self.stored.store

    def fails(self, kind: str, do, *args) -> Failure:
        with self.assertRaises(Failure) as raised:
            do(*args)
        self.assertEqual(raised.exception.kind, kind, raised.exception)
        return raised.exception


class Objects(OnServer):
    def test_conditions(self):
        s = self.store
        self.assertTrue(s.put("a", b"one", new=True))
        self.assertFalse(s.put("a", b"two", new=True))
        had = s.get("a")
        self.assertEqual(had.body, b"one")
        self.assertLess(abs(had.now - time.time()), 60)
        self.assertTrue(s.put("a", b"three", etag=had.etag))
        self.assertFalse(s.put("a", b"four", etag=had.etag))
        self.assertFalse(s.put("b", b"four", etag=had.etag))
        self.assertEqual(s.get("a").body, b"three")
        self.assertIsNone(s.find("b"))

    def test_references(self):
        ref = self.stored.ref("a", b"one")
        self.assertEqual(self.store.read(ref), b"one")
        self.store.put("a", b"two")
        self.assertIn("a: its sha256 is 3fc4ccfe7458", str(self.fails("corrupt", self.store.read, ref)))
        self.fails("not_found", self.store.read, ref | {"key": "b"})

    def test_a_store_that_does_not_answer(self):
        with mock.patch.dict(os.environ, AWS_ENDPOINT_URL_S3="http://127.0.0.1:9"), mock.patch.object(module, "ATTEMPTS", 1):
            self.assertEqual(self.fails("unavailable", Store("bucket").get, "a").exit, 75)

    def test_no_such_bucket_and_no_credentials(self):
        self.fails("not_found", Store("another").get, "a")
        with mock.patch.dict(os.environ, AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="", AWS_SHARED_CREDENTIALS_FILE="/nowhere", AWS_EC2_METADATA_DISABLED="true"):
            self.assertEqual(self.fails("refused", Store("bucket").get, "a").exit, 75)


class Files(OnServer):
    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.object(module, "CHUNK", 1000))
        self.path = self.tmp / "file"
        self.path.write_bytes(os.urandom(4500))
        self.sent = []
        real = self.store._send
        self.enterContext(mock.patch.object(self.store, "_send", lambda key, *rest: self.sent.append(key) or real(key, *rest)))

    def test_there_and_back(self):
        done = []
        file = self.store.send(self.path, done.append)
        body = self.path.read_bytes()
        self.assertEqual((file["size"], file["sha256"], sum(done)), (4500, sha256(body), 4500))
        self.assertEqual(file["chunks"], [sha256(body[i : i + 1000]) for i in range(0, 4500, 1000)])
        self.assertEqual(len(self.sent), 5)
        self.store.fetch(file, self.tmp / "back")
        self.assertEqual((self.tmp / "back").read_bytes(), body)

    def test_what_is_there_is_not_sent_again(self):
        self.store.send(self.path)
        body = bytearray(self.path.read_bytes())
        body[2500] ^= 1
        self.path.write_bytes(body)
        self.sent.clear()
        file = self.store.send(self.path)
        self.assertEqual(self.sent, [chunk_key(file["chunks"][2])])

    def test_a_damaged_chunk_is_mended(self):
        file = self.store.send(self.path)
        self.store.put(chunk_key(file["chunks"][1]), b"else")
        self.sent.clear()
        self.assertEqual(self.store.send(self.path), file)
        self.assertEqual(self.sent, [chunk_key(file["chunks"][1])])
        self.assertTrue(self.store.holds(file["chunks"][1]))

    def test_a_part_that_was_read_is_not_read_again(self):
        file = self.store.send(self.path)
        back = self.tmp / "back"
        body = self.path.read_bytes()
        back.write_bytes(body[:2000] + bytes(1000) + body[3000:4200] + b"more than the file has" * 20)
        asked = []
        real = self.store._download
        with mock.patch.object(self.store, "_download", lambda sum, *rest: asked.append(sum) or real(sum, *rest)):
            self.store.fetch(file, back)
        self.assertEqual(back.read_bytes(), body)
        self.assertCountEqual(asked, [file["chunks"][2], file["chunks"][4]])

    def test_an_empty_file(self):
        self.path.write_bytes(b"")
        file = self.store.send(self.path)
        self.assertEqual((file["chunks"], file["sha256"]), ([], sha256(b"")))
        self.store.fetch(file, self.tmp / "back")
        self.assertEqual((self.tmp / "back").read_bytes(), b"")

    def test_damage(self):
        file = self.store.send(self.path)
        chunks = file["chunks"]
        for name, wrong in (("a chunk too few", {"chunks": chunks[:-1]}), ("another order", {"chunks": chunks[1:2] + chunks[:1] + chunks[2:]}), ("another sum", {"sha256": chunks[0]}), ("short", {"size": 4400})):
            with self.subTest(name):
                self.fails("corrupt", self.store.fetch, file | wrong, self.tmp / name)
        self.store.put(chunk_key(chunks[3]), b"else")
        self.assertIn(chunks[3], str(self.fails("corrupt", self.store.fetch, file, self.tmp / "back")))
        self.store.s3.delete_object(Bucket=self.store.bucket, Key="some/where/" + chunk_key(chunks[3]))
        self.fails("not_found", self.store.fetch, file, self.tmp / "back")


class Memory(OnServer):
    def test_files_do_not_pass_through_memory(self):
        """A process of its own sends and reads 5 chunks of 64 MiB; its memory grows by less than one."""
        program = f"""
import resource, sys
from pathlib import Path
sys.path.insert(0, {str(TRAINER)!r})
from longhaul_trainer.store import CHUNK, Store
store = Store({self.store.bucket!r}, "some/where/")
store.find("nothing")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
path = Path({str(self.tmp / "large")!r})
with path.open("wb") as f:
    for i in range(5):
        f.write(bytes([i]) * CHUNK)
store.fetch(store.send(path), path.with_name("back"))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
        grown = int(subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True, text=True).stdout) * resource_unit()
        self.assertEqual((self.tmp / "back").stat().st_size, 5 * CHUNK)
        self.assertLess(grown, CHUNK)


def resource_unit() -> int:
    """Bytes that ru_maxrss counts in."""
    return 1 if sys.platform == "darwin" else 1024


class Claims(OnServer):
    def claim(self, owner: str, lease: float = 60.0, renew: float = 0.2) -> Claim:
        claim = Claim(self.store, "jobs/k/claim.json", owner, lease, renew)
        self.addCleanup(claim.stop.set)
        return claim

    def take(self, claim: Claim, done=lambda: False) -> bool:
        self.waited = []
        return claim.take(done, self.waited.append)

    def test_the_same_owner_takes_over_at_once(self):
        self.assertTrue(self.take(self.claim("me")))
        self.assertTrue(self.take(self.claim("me")))
        self.assertEqual(self.waited, [])

    def test_another_owner_waits_until_it_runs_out(self):
        self.assertTrue(self.take(self.claim("me", lease=2)))
        self.assertTrue(self.take(self.claim("you")))
        self.assertEqual(set(self.waited), {"the claim of me"})

    def test_what_is_done_meanwhile_is_not_claimed(self):
        self.assertTrue(self.take(self.claim("me")))
        self.assertFalse(self.take(self.claim("you"), done=lambda: True))

    def test_a_released_claim_is_free(self):
        mine = self.claim("me")
        self.take(mine)
        mine.release()
        self.assertTrue(self.take(self.claim("you")))
        self.assertEqual(self.waited, [])

    def test_a_kept_claim_is_renewed(self):
        mine, lost = self.claim("me", lease=2), threading.Event()
        self.take(mine)
        mine.keep(lost.set)
        self.assertFalse(lost.wait(3))
        self.assertFalse(self.take(self.claim("you"), done=lambda: True))

    def test_a_lost_claim_is_noticed_and_left_alone(self):
        mine, lost = self.claim("me"), threading.Event()
        self.take(mine)
        mine.keep(lost.set)
        other = self.claim("me")
        self.take(other)
        self.assertTrue(lost.wait(20) and mine.lost)
        mine.release()
        self.assertEqual(self.store.get("jobs/k/claim.json").body, other.mine)

    def test_one_of_several_racers_has_it(self):
        racers = [self.claim(f"racer {i}") for i in range(6)]
        won = []
        race = [threading.Thread(target=lambda c=c: c.take(lambda: bool(won), lambda _: None) and won.append(c.owner)) for c in racers]
        [t.start() for t in race], [t.join() for t in race]
        self.assertEqual(len(won), 1)

    def test_claims_that_are_damaged_or_newer(self):
        for body, takes in ((b"{", True), (b"[]", True), (b'{"schema":"' + SCHEMA.encode() + b'","owner":"x","until":"soon"}', True)):
            self.store.put("jobs/k/claim.json", body)
            self.assertEqual(self.take(self.claim("me")), takes)
        self.store.put("jobs/k/claim.json", f'{{"schema":"longhaul/claim/2","owner":"x","until":"{render(0)}"}}'.encode())
        self.assertEqual(self.fails("conflict", self.take, self.claim("me")).exit, 75)

    def test_a_write_whose_answer_is_lost_is_ours(self):
        mine = self.claim("me")
        real = self.store.put
        with mock.patch.object(self.store, "put", lambda *a, **k: real(*a, **k) and False):
            self.assertTrue(self.take(mine))


class Telling(OnServer):
    def test_progress_is_written_seldom_and_to_the_end(self):
        writes = []
        real = self.store.put
        with mock.patch.object(self.store, "put", lambda key, body, **k: writes.append(body) or real(key, body, **k)):
            progress = Progress(self.store, "jobs/k/progress.json", "me", 3, every=0.2)
            for i in range(50):
                progress.tell("minibatches", i, 50)
                time.sleep(0.01)
            progress.end("failed", Failure("corrupt", "batch", "it is torn"))
        self.assertEqual(self.stored.json("k", "progress"), {
            "schema": "longhaul/progress/1", "owner": "me", "attempt": 3, "what": "failed", "done": 49, "total": 50,
            "error": {"kind": "corrupt", "message": "batch: it is torn"},
        })
        self.assertLess(len(writes), 15)


if __name__ == "__main__":
    unittest.main()
