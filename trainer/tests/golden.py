"""One optimiser step a job, from files that the embedded trainer wrote; activities/golden_test.go compares.

golden.py DIR reads DIR/jobs.json and, from there, base/, reference/ and each job's batch; it writes each job's weights and
optimiser to DIR/<n>/ and the metrics of all jobs to stdout.
"""

import json
import sys
from pathlib import Path

import torch
from longhaul_trainer.loss import Loss
from longhaul_trainer.train import Optimiser, adamw, imitate, prepare, step, step_on_pairs
from longhaul_trainer.wire import read_batch, read_model, read_optimizer, write_checkpoint


def main(directory: Path) -> None:
    torch.set_num_threads(1)
    reference = read_model(directory / "reference")
    metrics = []
    for i, job in enumerate(json.loads((directory / "jobs.json").read_text())):
        batch, model = read_batch(directory / job["batch"]), read_model(directory / "base")
        optimiser, loss, temperature = Optimiser(**job["optimiser"]), Loss(**job["loss"]), job["temperature"]
        optimizer, most = adamw(model, optimiser), optimiser.max_grad_norm
        read_optimizer(directory / "base", model, optimizer)
        if job.get("demonstrations"):
            metrics.append(imitate(model, optimizer, batch, most))
        else:
            prepared = prepare(batch, loss, model, reference, temperature)
            if loss.use == "dpo":
                metrics.append(step_on_pairs(model, optimizer, prepared, torch.tensor(job["pairs"]), loss.beta, temperature, most))
            else:
                metrics.append(step(model, optimizer, prepared, loss, temperature, most))
        write_checkpoint(directory / str(i), model, optimizer)
    json.dump(metrics, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
