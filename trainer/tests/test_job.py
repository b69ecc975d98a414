"""The whole job, as a process, against a real S3 server: docs/decisions/jobs.md."""

import json
import signal
import socket
import tempfile
import threading
import time
import unittest
from pathlib import Path

import torch
from longhaul_trainer.claim import Claim
from longhaul_trainer.job import Job
from longhaul_trainer.spec import named
from longhaul_trainer.store import chunk_key
from safetensors.torch import load_file
from stored import TRAINER, Stored, batch_file, config, model_files

LORA = {"lora_rank": 4, "lora_alpha": 8}


class Jobs(unittest.TestCase):
    def setUp(self):
        self.tmp = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.stored = Stored()
        self.store = self.stored.store

    def base(self, **shape) -> dict:
        """Version 0: a model that comes from elsewhere, without an optimiser."""
        files = [self.store.send(path) for path in sorted(model_files(self.tmp / "base", **shape).iterdir())]
        return self.stored.checkpoint(0, files, {"model.safetensors": "safetensors/llama"})

    def spec(self, base: dict, loss: dict | None = None, update: int = 1, **keys) -> str:
        return self.stored.spec(config(loss, **keys), base, batch_file(self.tmp / f"batch-{update}.safetensors", seed=update), update)

    def changed(self, key: str, **parts) -> str:
        """The spec of a key with other parts."""
        return self.stored.put_spec(json.dumps(self.stored.json(key, "spec") | parts).encode())

    def succeeds(self, key: str, **environment: str) -> dict:
        code, said = self.stored.run(key, **environment)
        self.assertEqual((code, said), (0, ""))
        self.assertEqual(self.stored.json(key, "progress")["what"], "done")
        return self.stored.json(key, "result")

    def fails(self, code: int, key: str, kind: str, message: str):
        got, said = self.stored.run(key)
        self.assertEqual(got, code, said)
        self.assertIn(message, said)
        error = self.stored.json(key, "progress")["error"]
        self.assertEqual(error["kind"], kind)
        self.assertIn(message, error["message"])
        self.assertIsNone(self.store.find(f"jobs/{key}/result.json"))

    def tensors(self, result: dict, name: str) -> dict:
        self.store.fetch(named(result, name), self.tmp / "tensors")
        return load_file(self.tmp / "tensors")

    def test_three_updates_whole_and_by_adapter(self):
        """Each from the one before; what does not change is carried over by reference, and a job that runs twice changes nothing."""
        once = {"adapter_config.json"}  # the first update writes it, the others leave it
        for name, keys, loss, changes in (
            ("whole", {"row_tokens": 60}, {}, {"model.safetensors", "optimizer.safetensors"}),
            ("adapter", LORA, {"kl_coef": 0.1, "mismatch_cap": 2}, {"adapter_model.safetensors", "optimizer.safetensors"}),
        ):
            with self.subTest(name):
                base = self.base()
                work = str(self.tmp / name)
                before = json.loads(self.store.read(base))["files"]
                for update in (1, 2, 3):
                    key = self.spec(base, loss, update, **keys)
                    result = self.succeeds(key, LONGHAUL_WORK_DIR=work, LONGHAUL_ATTEMPT="2")
                    spec = self.stored.json(key, "spec")
                    self.assertEqual((result["spec"], result["tokens_consumed"], result["tokenizer"]), (key, spec["n_trained_tokens"], "t"))
                    self.assertEqual(int(self.tensors(result, "optimizer.safetensors")["step"]), 2 * update)
                    self.assertEqual(result["formats"]["optimizer.safetensors"], "safetensors/adamw")
                    self.assertEqual({file["name"] for file in result["files"] if file not in before} - once, changes)
                    self.assertGreater(result["metrics"]["mismatch_kl"], 0)
                    before, base = result["files"], self.stored.checkpoint(update, result["files"], result["formats"])
                self.assertEqual(self.stored.json(key, "progress")["attempt"], 2)
                self.assertEqual(self.succeeds(key), result)

    def test_processes_share_the_work(self):
        """Two processes with sharded weights end where one does."""
        for name, keys, loss, file in (
            ("whole", {"row_tokens": 40}, {"kl_coef": 0.1, "mismatch_cap": 2}, "model.safetensors"),
            ("adapter", LORA, {"kl_coef": 0.1}, "adapter_model.safetensors"),
        ):
            with self.subTest(name):
                base = self.base()
                one = self.succeeds(self.spec(base, loss, **keys))
                two = self.succeeds(self.spec(base, loss, processes=2, **keys))
                for metric, value in one["metrics"].items():
                    self.assertAlmostEqual(two["metrics"][metric], value, delta=1e-5 * max(1, abs(value)), msg=metric)
                mine, other = self.tensors(one, file), self.tensors(two, file)
                self.assertEqual(mine.keys(), other.keys())
                for tensor in mine:
                    torch.testing.assert_close(mine[tensor], other[tensor], rtol=1e-5, atol=1e-5)
                self.assertEqual(self.tensors(two, "optimizer.safetensors").keys(), self.tensors(one, "optimizer.safetensors").keys())

    def test_terminated_and_killed_jobs_are_done_by_the_next(self):
        """SIGTERM in mid-step ends with 143, frees the claim and leaves no result; what is tried then gives the bytes of a job that
        nobody disturbed."""
        base = self.base()
        undisturbed = self.succeeds(self.spec(base, minibatches=8))
        slow = self.spec(base, minibatches=8, kl_stop=1000)
        for sent, code in ((signal.SIGTERM, 143), (signal.SIGKILL, -9)):
            with self.stored.start(slow, "another") as job:
                while not (had := self.store.find(f"jobs/{slow}/progress.json")) or json.loads(had.body)["what"] != "minibatches":
                    self.assertIsNone(job.poll())
                    time.sleep(0.02)
                job.send_signal(sent)
                job.stderr.read()
            self.assertEqual(job.returncode, code)
            self.assertIsNone(self.store.find(f"jobs/{slow}/result.json"))
            if sent == signal.SIGTERM:
                self.assertEqual(self.stored.json(slow, "claim")["until"], "1970-01-01T00:00:00Z")
        result = self.succeeds(slow, LONGHAUL_OWNER="another")
        self.assertEqual((result["files"], result["metrics"]), (undisturbed["files"], undisturbed["metrics"]))

    def test_a_store_that_hangs_does_not_hold_up_the_end(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            job = self.stored.start("0" * 64, AWS_ENDPOINT_URL_S3=f"http://127.0.0.1:{silent.getsockname()[1]}")
            self.addCleanup(job.kill)
            with silent.accept()[0]:  # it asks, and nobody answers
                began = time.monotonic()
                job.send_signal(signal.SIGTERM)
                job.communicate(timeout=60)
        self.assertEqual(job.returncode, 143)
        self.assertLess(time.monotonic() - began, 25)

    def test_a_claim_lost_while_training_ends_the_attempt(self):
        key = self.spec(self.base())
        job = Job(f"s3://{self.store.bucket}/some/where/jobs/{key}/spec.json", "me")
        job.claim.renew = 0.1
        failure = []

        def run():
            try:
                job.run()
            except Exception as e:
                failure.append(e)

        thread = threading.Thread(target=run)
        thread.start()
        while not job.training:
            time.sleep(0.01)
        thief = Claim(self.store, f"jobs/{key}/claim.json", "me")
        thief.take(lambda: False, lambda _: None)
        thread.join()
        self.assertIn("taken the claim over", str(failure[0]))
        self.assertEqual(failure[0].exit, 75)

    def test_specs_and_what_they_name(self):
        base = self.base()
        good = self.spec(base)
        spec = self.stored.json(good, "spec")
        file, batch = {"name": "../x", "size": 0, "sha256": "0" * 64, "chunks": []}, self.tmp / "batch-1.safetensors"
        missing = {"key": "runs/a/nothing", "sha256": "0" * 64, "size": 1}
        for name, key, kind, message in (
            ("a newer schema", self.changed(good, schema="longhaul/update/2"), "invalid", "its schema is 'longhaul/update/2'"),
            ("no spec", self.changed(good, schema="x"), "corrupt", "its schema is 'x'"),
            ("no JSON", self.stored.put_spec(b"{"), "corrupt", "it is not JSON"),
            ("update 0", self.changed(good, base_checkpoint=None), "invalid", "has no base checkpoint or no batch"),
            ("no seed", self.changed(good, seed="x"), "corrupt", "seed is 'x'"),
            ("a base that is not there", self.changed(good, base_checkpoint=missing), "not_found", "runs/a/nothing"),
            ("a batch that is not there", self.changed(good, batch=missing), "not_found", "runs/a/nothing"),
            ("a batch of other bytes", self.changed(good, batch=spec["batch"] | {"sha256": "0" * 64}), "corrupt", "batch.safetensors: its sha256 is"),
            ("another batch", self.changed(good, n_trained_tokens=7), "corrupt", "the spec says 7"),
            ("a manifest that is none", self.changed(good, base_checkpoint=self.stored.ref("m1", b'{"schema":"x"}')), "corrupt", "its schema is 'x'"),
            ("a newer manifest", self.changed(good, base_checkpoint=self.stored.ref("m2", b'{"schema":"longhaul/checkpoint/9"}')), "invalid", "'longhaul/checkpoint/9'"),
            ("a file outside", self.changed(good, base_checkpoint=self.stored.checkpoint(7, [file])), "corrupt", "'../x' is no file name"),
            ("a base without weights", self.changed(good, base_checkpoint=self.stored.checkpoint(8, [])), "corrupt", "it has no config.json"),
            ("a loss of the future", self.stored.spec(config({"twist": 1}), base, batch), "invalid", "does not know twist"),
            ("a reference that is not there", self.stored.spec(config({"kl_coef": 1, "reference": "b@000003"}), base, batch), "not_found", "runs/b/ckpt/00000003.json"),
        ):
            with self.subTest(name):
                self.fails(42, key, kind, message)

    def test_damaged_weights(self):
        base = self.base()
        key = self.spec(base)
        sum = named(json.loads(self.store.read(base)), "model.safetensors")["chunks"][0]
        whole = self.store.get(chunk_key(sum)).body
        self.store.put(chunk_key(sum), whole[:-1] + b"!")
        self.fails(42, key, "corrupt", sum)
        self.store.put(chunk_key(sum), whole)
        self.succeeds(key)

    def test_results_of_others(self):
        key = self.spec(self.base())
        path = f"jobs/{key}/result.json"
        result = self.succeeds(key)
        with self.subTest("of another spec, and its chunks damaged"):
            self.store.put(path, json.dumps(result | {"spec": "0" * 64}).encode())
            sum = named(result, "model.safetensors")["chunks"][0]
            self.store.put(chunk_key(sum), b"else")
            self.assertEqual(self.succeeds(key)["files"], result["files"])
            self.assertTrue(self.store.holds(sum))
        with self.subTest("newer"):
            self.store.put(path, b'{"schema":"longhaul/result/2"}')
            code, said = self.stored.run(key)
            self.assertEqual(code, 42)
            self.assertIn("'longhaul/result/2'", said)
        with self.subTest("which are sound"):
            job = Job(f"s3://{self.store.bucket}/some/where/jobs/{key}/spec.json", "me")
            for body, sound in ((b"{", False), (b'{"schema":"x"}', False), (json.dumps(result | {"files": [3]}).encode(), False), (json.dumps(result).encode(), True)):
                self.store.put(path, body)
                self.assertEqual(job.recorded(), sound)

    def test_environments(self):
        key = self.spec(self.base())
        code, said = self.stored.run(key, LONGHAUL_SPEC_URI="s3://b/spec.json")
        self.assertEqual(code, 42)
        self.assertIn("'s3://b/spec.json' is not of the form s3://bucket/prefix/jobs/KEY/spec.json", said)
        code, said = self.stored.run(key, LONGHAUL_OWNER="")
        self.assertEqual((code, said), (42, "longhaul_trainer: LONGHAUL_OWNER: it is not set\n"))
        code, said = self.stored.run("0" * 64)
        self.assertEqual(code, 42)
        self.assertIn("NoSuchKey", said)
        code, said = self.stored.run(key, AWS_ENDPOINT_URL_S3="http://127.0.0.1:9")
        self.assertEqual(code, 75)
        self.assertIn("it cannot be", said)

    def test_an_interpreter_that_lacks_something(self):
        """A missing package, or one whose libraries do not load, is as missing the next time: 42, with its name."""
        key = self.spec(self.base(), lora_rank=4)
        for name in ("boto3", "transformers", "peft"):
            broken = self.tmp / name
            broken.mkdir()
            (broken / f"{name}.py").write_text("raise ImportError('libcudart.so.13: cannot open shared object file')")
            with self.subTest(name):
                code, said = self.stored.run(key, PYTHONPATH=f"{broken}:{TRAINER}")
                self.assertEqual(code, 42, said)
                self.assertIn("trainer: ImportError: libcudart.so.13: cannot open", said)
                if name != "boto3":  # without which nothing can be told in the store
                    self.assertEqual(self.stored.json(key, "progress")["error"]["kind"], "invalid")


if __name__ == "__main__":
    unittest.main()
