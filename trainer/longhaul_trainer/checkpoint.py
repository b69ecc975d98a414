"""What a job leaves: weights under the names and in the files that they came from, and AdamW's state."""

from pathlib import Path

import torch

from .files import ADAPTER, ADAPTER_CONFIG, OPTIMIZER, weight_files
from .policy import Policy
from .tensors import NAMES, Tensors, write_tensors

TYPES = {name: dtype for dtype, name in NAMES.items()}


def read_optimizer(policy: Policy, optimizer: torch.optim.AdamW) -> None:
    """Goes on from the moments and the step of the base checkpoint, if they are of the weights that are trained: an adapter
    that is new, and a model that comes from elsewhere, begin afresh. Failure: corrupt when a weight has none."""
    path = policy.directory / OPTIMIZER
    if not path.exists() or policy.adapter and not policy.adapter.file:
        return
    with Tensors([path]) as state:
        step = state.get("step", torch.Size()).float()
        for name, p in policy.trained().items():
            optimizer.state[p] = {
                "step": step.clone(),
                "exp_avg": policy.like(state.get("exp_avg." + name, p.shape), p),
                "exp_avg_sq": policy.like(state.get("exp_avg_sq." + name, p.shape), p),
            }


def write_checkpoint(directory: Path, policy: Policy, optimizer: torch.optim.AdamW, base: str, first: bool) -> None:
    """Writes what has changed. All processes must call it; the first writes."""
    directory.mkdir(exist_ok=True)

    def write(path: Path, tensors: list) -> None:
        """Tensors are (name, dtype, shape, value); a value is made whole only when its turn comes."""
        values = (policy.whole(value).to(dtype) for _, dtype, _, value in tensors)
        if first:
            write_tensors(path, [(name, dtype, shape) for name, dtype, shape, _ in tensors], values)
        else:
            for _ in values:
                pass

    trained = policy.trained()
    masters = []
    if policy.adapter:
        write(directory / ADAPTER, [(name, torch.float32, p.shape, p) for name, p in sorted(trained.items())])
        if first:
            policy.adapter.write_config(directory / ADAPTER_CONFIG, base)
    else:
        with Tensors(weight_files(policy.directory)) as weights:
            named = dict(policy.model.named_parameters(remove_duplicate=False))
            for path in weight_files(policy.directory):
                out = []
                for name in weights.of(path):
                    value = named[name] if name in named else weights.raw(name)
                    dtype = TYPES[weights.dtype(name)]
                    out.append((name, dtype, value.shape, value))
                    if name in trained and dtype != torch.float32:
                        masters.append(("master." + name, torch.float32, value.shape, value))
                write(directory / path.name, out)
    state = [
        (f"{moment}.{name}", torch.float32, p.shape, optimizer.state[p][moment] if optimizer.state[p] else torch.zeros(p.shape))
        for moment in ("exp_avg", "exp_avg_sq")
        for name, p in sorted(trained.items())
    ]
    steps = next((int(s["step"]) for s in optimizer.state.values() if s), 0)
    write(directory / OPTIMIZER, [*state, *masters, ("step", torch.int64, torch.Size(), torch.tensor(steps))])
