"""One optimiser step a job, from files that the embedded trainer wrote; activities/golden_test.go compares.

golden.py DIR reads DIR/jobs.json and, from there, base/, reference/ and batch.safetensors; it writes each job's weights and
optimiser to DIR/<n>/ and the metrics of all jobs to stdout.
"""

import json
import sys
from pathlib import Path

import torch
from longhaul_trainer.loss import Loss
from longhaul_trainer.train import Optimiser, adamw, prepare, step
from longhaul_trainer.wire import read_batch, read_model, read_optimizer, write_checkpoint


def main(directory: Path) -> None:
    torch.set_num_threads(1)
    batch, reference = read_batch(directory / "batch.safetensors"), read_model(directory / "reference")
    metrics = []
    for i, job in enumerate(json.loads((directory / "jobs.json").read_text())):
        model = read_model(directory / "base")
        optimiser = Optimiser(**job["optimiser"])
        loss = Loss(**job["loss"])
        optimizer = adamw(model, optimiser)
        read_optimizer(directory / "base", model, optimizer)
        prepared = prepare(batch, loss, model, reference, job["temperature"])
        metrics.append(step(model, optimizer, prepared, loss, job["temperature"], optimiser.max_grad_norm))
        write_checkpoint(directory / str(i), model, optimizer)
    json.dump(metrics, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
