"""The protocol's JSON, read strictly: rl.UpdateSpec, rl.Checkpoint and rl.UpdateResult."""

import json
import re
from typing import Any

from .failure import Failure
from .store import sha256

SPEC, CHECKPOINT, RESULT = "longhaul/update/1", "longhaul/checkpoint/1", "longhaul/result/1"


def document(body: bytes, at: str, schema: str) -> dict[str, Any]:
    """JSON of a schema. Failures: invalid when it is of another version of it, corrupt when it is something else."""
    try:
        out = json.loads(body)
    except ValueError as e:
        raise Failure("corrupt", at, f"it is not JSON: {e}") from e
    had = out.get("schema") if isinstance(out, dict) else None
    if had == schema:
        return out
    family = schema.rsplit("/", 1)[0] + "/"
    if isinstance(had, str) and had.startswith(family):
        raise Failure("invalid", at, f"its schema is {had!r}, and this trainer knows {schema!r}: they must be of one release")
    raise Failure("corrupt", at, f"its schema is {had!r}, not {schema!r}")


def need(where: dict, at: str, **kinds: Any) -> None:
    """Failure: corrupt unless these are there, of these types."""
    for name, kind in kinds.items():
        value = where.get(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise Failure("corrupt", at, f"{name} is {value!r}")


def read_spec(body: bytes, key: str, at: str) -> dict[str, Any]:
    """The spec whose sha256 is key."""
    if (sum := sha256(body)) != key:
        raise Failure("corrupt", at, f"its sha256 is {sum:.12}, not {key:.12} as its key says")
    spec = document(body, at, SPEC)
    need(spec, at, run=str, update=int, config=dict, n_seq=int, n_trained_tokens=int, learning_rate=(int, float), seed=int)
    if not isinstance(spec.get("base_checkpoint"), dict) or not isinstance(spec.get("batch"), dict):
        raise Failure("invalid", at, f"update {spec['update']} has no base checkpoint or no batch: the first policy is made by the worker")
    for name in ("config", "base_checkpoint", "batch"):
        need(spec[name], f"{at} {name}", key=str, sha256=str, size=int)
    return spec


def read_manifest(body: bytes, at: str) -> dict[str, Any]:
    manifest = document(body, at, CHECKPOINT)
    need(manifest, at, run=str, update=int, files=list, formats=dict)
    check_files(manifest["files"], at)
    return manifest


def check_files(files: list, at: str) -> None:
    for file in files:
        if not isinstance(file, dict):
            raise Failure("corrupt", at, f"a file is {file!r}")
        need(file, at, name=str, size=int, sha256=str, chunks=list)
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", file["name"]):
            raise Failure("corrupt", at, f"{file['name']!r} is no file name")
        if file["size"] < 0 or any(not isinstance(sum, str) or not re.fullmatch("[0-9a-f]{64}", sum) for sum in [file["sha256"], *file["chunks"]]):
            raise Failure("corrupt", at, f"file {file['name']} has a size below 0, or a sha256 that is none")


def named(manifest: dict, name: str) -> dict | None:
    return next((file for file in manifest["files"] if file["name"] == name), None)


def reference_key(config: dict) -> str | None:
    """The manifest of the policy that the loss compares with; None when it compares with none. Failure: invalid."""
    loss = config["loss"]
    if not loss.get("kl_coef") and loss["use"] != "dpo":
        return None
    version = loss.get("reference") or f"{config['name']}@000000"
    run, _, n = version.rpartition("@")
    if not run or not n.isdigit():
        raise Failure("invalid", "run.yaml loss.reference", f"{version!r} is no version")
    return f"runs/{run}/ckpt/{int(n):08d}.json"
