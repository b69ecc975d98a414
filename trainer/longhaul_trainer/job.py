"""One update as a job of its own: docs/decisions/jobs.md. This process speaks with the store; another one trains."""

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from . import files
from .claim import Claim
from .failure import Failure
from .progress import Counted, Progress
from .spec import RESULT, check_files, document, named, read_manifest, read_spec, reference_key
from .store import Store
from .workdir import directory

USED = re.compile(r"config\.json|(model|adapter|optimizer).*\.(safetensors|json)")  # of a checkpoint's files


class Job:
    """The job of the spec at s3://bucket/prefix/jobs/KEY/spec.json."""

    def __init__(self, uri: str, owner: str, attempt: int = 1, work: str | None = None):
        """attempt counts from 1, for people. work is a directory to keep files in between jobs; None: a temporary one."""
        found = re.fullmatch(r"s3://([^/]+)/(.*?)jobs/([0-9a-f]{64})/spec\.json", uri)
        if not found:
            raise Failure("invalid", "LONGHAUL_SPEC_URI", f"{uri!r} is not of the form s3://bucket/prefix/jobs/KEY/spec.json")
        bucket, prefix, self.key = found.groups()
        self.work, self.owner = work, owner
        self.store = Store(bucket, prefix)
        self.at = self.store.at(self.path("spec"))
        self.spec: dict = {}
        self.progress = Progress(self.store, self.path("progress"), owner, attempt)
        self.claim = Claim(self.store, self.path("claim"), owner)
        self.training: subprocess.Popen | None = None

    def path(self, name: str) -> str:
        return f"jobs/{self.key}/{name}.json"

    def run(self) -> None:
        """Returns when the result is recorded."""
        self.spec = read_spec(self.store.get(self.path("spec")).body, self.key, self.at)
        if self.recorded() or not self.claim.take(self.recorded, self.progress.tell):
            self.progress.end("done")
            return
        self.claim.keep(self.kill)
        with directory(self.work) as work:
            began = time.monotonic()
            base, config = self.fetch(work)
            fetched = time.monotonic()
            self.train(work, config["update"].get("processes") or 1)
            trained = time.monotonic()
            result = self.result(work, base)
        seconds = {"read": fetched - began, "train": trained - fetched, "write": time.monotonic() - trained}
        result |= {"owner": self.owner, "seconds": seconds}  # beside what a checkpoint's manifest takes
        self.record(json.dumps(result).encode())
        self.claim.release()
        self.progress.end("done")

    def recorded(self) -> bool:
        """Whether there is a result, of this spec and with its files whole. Failure: invalid when it is of another version."""
        had = self.store.find(self.path("result"))
        if not had:
            return False
        try:
            result = document(had.body, self.store.at(self.path("result")), RESULT)
            check_files(result.get("files", []), self.at)
        except Failure as failure:
            if failure.kind == "corrupt":
                return False
            raise
        return result.get("spec") == self.key and all(self.store.holds(sum) for file in result["files"] for sum in file["chunks"])

    def fetch(self, work: Path) -> tuple[dict, dict]:
        """Everything that is trained with, as files; returns the base's manifest and the run's configuration."""
        store, spec = self.store, self.spec
        self.progress.tell("reading the spec's parts")
        config = json.loads(store.read(spec["config"]))
        (work / "batch.safetensors").write_bytes(store.read(spec["batch"]))
        ref = spec["base_checkpoint"]
        base = read_manifest(store.read(ref), store.at(ref["key"]))
        self.fetch_files(base, work / "base", "reading the base checkpoint")
        reference = None
        if key := reference_key(config):
            manifest = read_manifest(store.get(key).body, store.at(key))
            reference = "base" if same_base(base, manifest) and config["update"].get("lora_rank") else "files"
            if reference == "files":
                self.fetch_files(manifest, work / "reference", "reading the reference")
        out = Path(tempfile.mkdtemp(prefix="out-", dir=work)).name
        (work / "work.json").write_text(json.dumps({"spec": spec, "config": config, "reference": reference, "out": out}))
        return base, config

    def fetch_files(self, manifest: dict, into: Path, what: str) -> None:
        at = f"checkpoint {manifest['run']}@{manifest['update']:06d}"
        for name in (files.CONFIG, files.INDEX if named(manifest, files.INDEX) else files.WEIGHTS):
            if not named(manifest, name):
                raise Failure("corrupt", at, f"it has no {name}")
        used = [file for file in manifest["files"] if USED.fullmatch(file["name"])]
        into.mkdir(exist_ok=True)
        for path in into.iterdir():
            if path.name not in {file["name"] for file in used}:
                path.unlink()
        count = Counted(lambda done: self.progress.tell(what, done, sum(file["size"] for file in used)))
        for file in used:
            self.store.fetch(file, into / file["name"], count)

    def train(self, work: Path, processes: int) -> None:
        """Trains in another process, or several, and passes on what they tell."""
        self.holds_claim()
        run = [] if processes == 1 else ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
        command = [sys.executable, *run, "-m", "longhaul_trainer.update", str(work)]
        # Nothing is fetched from a hub, and matrix products are the same each time.
        environment = os.environ | {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
        failure = None
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as self.training:
            for line in self.training.stdout:
                match told(line):
                    case {"kind": kind, "at": at, "message": message}:
                        failure = Failure(kind, at, message)
                    case {"what": what, "done": done, "total": total}:
                        self.progress.tell(what, done, total)
                    case _:
                        print(line, end="", file=sys.stderr)
        self.holds_claim()
        if failure:
            raise failure
        if code := self.training.returncode:
            raise Failure("unavailable", self.at, f"the training process ended with {f'signal {-code}' if code < 0 else f'exit code {code}'}")

    def holds_claim(self) -> None:
        if self.claim.lost:
            raise Failure("conflict", self.at, "another attempt has taken the claim over")

    def kill(self) -> None:
        """Ends the training process; those that it started follow it."""
        if self.training:
            self.training.kill()

    def result(self, work: Path, base: dict) -> dict:
        """Stores what was trained, and says what it is. What has not changed is carried over by reference."""
        out = work / json.loads((work / "work.json").read_text())["out"]
        metrics = json.loads((out / "metrics.json").read_text())
        paths = sorted(out.glob("*.safetensors")) + sorted(out.glob("adapter_config.json"))
        size = sum(path.stat().st_size for path in paths)
        count = Counted(lambda done: self.progress.tell("writing the checkpoint", done, size))
        made = {path.name: self.store.send(path, count) for path in paths}
        kept = {file["name"]: file for file in base["files"] if file["name"] not in made}
        for name, file in kept.items():
            if not USED.fullmatch(name) and not all(map(self.store.holds, file["chunks"])):
                raise Failure("corrupt", f"base checkpoint {name}", "it is not whole in the store")
        formats = {files.OPTIMIZER: "safetensors/adamw", files.ADAPTER: "safetensors/peft", files.ADAPTER_CONFIG: "json/peft"}
        return {
            "schema": RESULT, "spec": self.key, "files": [file for _, file in sorted((kept | made).items())], "metrics": metrics,
            "tokens_consumed": int(metrics["tokens"]), "formats": base["formats"] | {name: formats[name] for name in made if name in formats},
            "tokenizer": base.get("tokenizer", ""),
        }

    def record(self, body: bytes) -> None:
        """Writes the result unless a whole one is there: the first one counts."""
        had = self.store.find(self.path("result"))
        if had and self.recorded():
            return
        if not self.store.put(self.path("result"), body, etag=had.etag if had else None, new=not had) and not self.recorded():
            raise Failure("conflict", self.at, "the result changed while it was written")

    def stop(self) -> None:
        """What is left to do after SIGTERM: the training ends, the next attempt may begin at once."""
        self.kill()
        self.leave("stopped")

    def fail(self, failure: Failure) -> None:
        self.kill()
        self.leave("failed", failure)

    def leave(self, what: str, failure: Failure | None = None) -> None:
        self.progress.end(what, failure)
        with contextlib.suppress(Failure):
            self.claim.release()


def same_base(one: dict, other: dict) -> bool:
    """Whether another checkpoint is of the same model, without an adapter."""

    def weights(manifest: dict) -> dict:
        return {file["name"]: file["sha256"] for file in manifest["files"] if file["name"].startswith("model") or file["name"] == files.CONFIG}

    return weights(one) == weights(other) and not named(other, files.ADAPTER)


def told(line: str) -> dict | None:
    try:
        out = json.loads(line)
    except ValueError:
        return None
    return out if isinstance(out, dict) else None
