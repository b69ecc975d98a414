"""Updates from files that the embedded trainer wrote, as the update job makes them; activities/golden_test.go compares.

golden.py DIR reads DIR/jobs.json, a list of {"config","spec"}, and, from there, base/, reference/ and batch.safetensors. It writes the
n-th update's weights, optimiser and metrics to DIR/<n>/.
"""

import json
import sys
from pathlib import Path

import torch
from longhaul_trainer import update
from longhaul_trainer.batch import read_batch
from longhaul_trainer.checkpoint import read_optimizer, write_checkpoint
from longhaul_trainer.loss import Loss, cross_entropy
from longhaul_trainer.packing import pack
from longhaul_trainer.policy import Policy, Settings
from longhaul_trainer.spec import reference_key
from longhaul_trainer.train import Optimiser, Trainer, adamw


def main(directory: Path) -> None:
    torch.set_num_threads(1)
    for i, job in enumerate(json.loads((directory / "jobs.json").read_text())):
        work = job | {"reference": "files" if reference_key(job["config"]) else None, "out": str(i)}
        (directory / "work.json").write_text(json.dumps(work))
        if job["demonstrations"]:
            imitate(directory, job, directory / str(i))
        else:
            update.run(directory)


def imitate(directory: Path, job: dict, out: Path) -> None:
    """One step on demonstrations, as in the warm-up: at temperature 1, whatever is sampled with."""
    o = update.known(Optimiser, job["config"]["update"] | {"learning_rate": job["spec"]["learning_rate"]})
    policy = Policy(directory / "base", Settings(), 0, torch.device("cpu"))
    optimizer = adamw(policy, o)
    read_optimizer(policy, optimizer)
    rows = [row for row in read_batch(directory / "batch.safetensors") if len(row.at)]
    (part,) = pack([rows], 0, policy.device)
    new, entropy = policy.log_probs(part, 1)
    loss = cross_entropy(new, torch.ones_like(new, dtype=torch.bool))
    loss.backward()
    norm = Trainer(policy, optimizer, Loss(), o, 1).clip()
    optimizer.step()
    write_checkpoint(out, policy, optimizer, "", True)
    (out / "metrics.json").write_text(json.dumps({"loss": loss.item(), "entropy": entropy.mean().item(), "grad_norm": norm}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
