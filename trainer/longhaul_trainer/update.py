"""The process that trains: from files to files, without the store. longhaul_trainer.job starts it, once or through torchrun.

update.py DIR reads DIR/work.json, DIR/base, DIR/batch.safetensors and, where the loss compares with another policy, DIR/reference. Into
the directory that work.json says it writes the files that changed, and metrics.json. Each line on stdout is JSON: progress
{"what","done","total"}, or the {"kind","message"} of what ended it.
"""

import json
import os
import sys
import threading
import time
import traceback
from dataclasses import fields
from pathlib import Path

from .failure import Failure, missing


def say(line: dict) -> None:
    print(json.dumps(line), flush=True)


def ends(failure: Failure) -> int:
    """Tells what ended the process, and gives its exit code."""
    say({"kind": failure.kind, "at": failure.at, "message": failure.message})
    return failure.exit


try:
    import torch
    from torch import distributed as dist

    from .batch import Row, check_rows, read_batch, trained_tokens
    from .checkpoint import read_optimizer, write_checkpoint
    from .loss import Loss
    from .policy import Policy, Settings
    from .train import Optimiser, Trainer, adamw, penalise, score
except ImportError as e:
    sys.exit(ends(missing(e)))

first = os.environ.get("RANK", "0") == "0"


def tell(what: str, done: int, total: int) -> None:
    if first:
        say({"what": what, "done": min(done, total), "total": total})


def loss_of(config: dict, tokens: int) -> Loss:
    """`loss` of run.yaml, for an update on so many trained tokens. Failure: invalid when this trainer does not know one of its
    keys."""
    keys = dict(config["loss"])
    keys.pop("reference", None)
    if unknown := sorted(keys.keys() - {f.name for f in fields(Loss)}):
        raise Failure("invalid", "run.yaml loss", f"this trainer does not know {', '.join(unknown)}")
    keys["tokens"] = tokens / max(1, config["update"]["minibatches"])
    keys["length"] = keys.get("length") or config["env"]["max_turns"] * config["sampling"]["max_tokens"]
    return Loss(**keys)


def known(kind: type, keys: dict):
    return kind(**{f.name: keys[f.name] for f in fields(kind) if f.name in keys})


def run(directory: Path) -> None:
    work = json.loads((directory / "work.json").read_text())
    spec, config = work["spec"], work["config"]
    device, shards = place()
    rows = read_batch(directory / "batch.safetensors")
    if (tokens := trained_tokens(rows)) != spec["n_trained_tokens"]:
        raise Failure("corrupt", "batch", f"it has {tokens} trained tokens, the spec says {spec['n_trained_tokens']}")
    settings, optimiser = known(Settings, config["update"]), known(Optimiser, config["update"] | {"learning_rate": spec["learning_rate"]})
    loss, temperature = loss_of(config, tokens), config["sampling"]["temperature"]

    def scored(policy: Policy, what: str) -> list:
        check_rows(rows, policy.vocabulary, policy.context)
        return score(policy, rows, temperature, optimiser.row_tokens, lambda done, total: tell(what, done, total))

    if work["reference"] == "files":
        any_ = Settings(lora_rank=None, precision=settings.precision)
        give(rows, "reference", scored(Policy(directory / "reference", any_, 0, device, shards), "reference"))
    policy = Policy(directory / "base", settings, spec["seed"], device, shards)
    check_rows(rows, policy.vocabulary, policy.context)
    if work["reference"] == "base":
        with policy.base():
            give(rows, "reference", scored(policy, "reference"))
    if loss.mismatch_cap > 0:
        give(rows, "old", scored(policy, "log-probabilities"))
    if loss.kl_coef > 0 and loss.kl_in == "reward":
        penalise(rows, loss)
    optimizer = adamw(policy, optimiser)
    read_optimizer(policy, optimizer)
    metrics = Trainer(policy, optimizer, loss, optimiser, temperature).update(rows, spec["seed"], f"update {spec['update']}", tell)
    write_checkpoint(directory / work["out"], policy, optimizer, config["policy"].get("model", ""), first)
    if first:
        (directory / work["out"] / "metrics.json").write_text(json.dumps(metrics))


def give(rows: list[Row], name: str, values: list) -> None:
    for row, value in zip(rows, values):
        setattr(row, name, value)


def place() -> tuple:
    """This process's device, and the shards of all processes where there are several."""
    torch.use_deterministic_algorithms(True)
    cuda = torch.cuda.is_available()
    rank = int(os.environ.get("LOCAL_RANK", "0"))
    device = torch.device("cuda", rank) if cuda else torch.device("cpu")
    if cuda and rank >= torch.cuda.device_count():
        raise Failure("invalid", "update.processes", f"process {rank + 1} finds {torch.cuda.device_count()} GPUs")
    if cuda:
        torch.cuda.set_device(device)
    if "RANK" not in os.environ:
        return device, None
    from .shard import Shards

    return device, Shards(device)


def follow(parent: int) -> None:
    """Ends this process when the one that started it has gone: a job that was killed leaves nothing behind that computes."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def main() -> int:
    threading.Thread(target=follow, args=[os.getppid()], daemon=True).start()
    try:
        run(Path(sys.argv[1]))
    except Failure as failure:
        return ends(failure)
    except ImportError as e:
        return ends(missing(e))
    except Exception as e:
        traceback.print_exc()
        return ends(Failure("unavailable", "training", f"{type(e).__name__}: {e}"))
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
