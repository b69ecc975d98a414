"""The files that longhaul writes, as tensors: batches (store/batch.go) and checkpoints (tiny/checkpoint.go), which are
Hugging Face directories with AdamW's moments beside the weights."""

import json
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoModelForCausalLM, PreTrainedModel

BATCH_SCHEMA = "longhaul/batch/1"
WEIGHTS, OPTIMIZER = "model.safetensors", "optimizer.safetensors"


@dataclass
class Batch:
    """Rows of one update, padded on the right to the longest: [rows, tokens]."""

    tokens: Tensor  # i64, 0 in the padding
    mask: Tensor  # bool, True where the policy sampled the token
    advantages: Tensor
    log_probs: Tensor  # as sampled; NaN where there is no loss
    episodes: list
    versions: list


def read_batch(path: Path) -> Batch:
    """Reads batch.safetensors; ValueError when it is not of this schema or its rows do not fit its tokens."""
    with safe_open(path, framework="pt") as f:
        meta = f.metadata() or {}
        if meta.get("schema") != BATCH_SCHEMA:
            raise ValueError(f"{path}: its schema is {meta.get('schema')!r}, not {BATCH_SCHEMA!r}")
        flat = {name: f.get_tensor(name) for name in ("tok", "mask", "adv", "logp", "cu_seqlens")}
    starts = flat.pop("cu_seqlens")
    lengths = starts.diff()
    if starts[0] != 0 or (lengths <= 0).any() or any(len(t) != starts[-1] for t in flat.values()):
        raise ValueError(f"{path}: cu_seqlens does not cut its tokens into rows")

    def padded(t: Tensor, value: float) -> Tensor:
        return torch.nn.utils.rnn.pad_sequence(t.split(lengths.tolist()), batch_first=True, padding_value=value)

    return Batch(
        tokens=padded(flat["tok"].long(), 0),
        mask=padded(flat["mask"], False),
        advantages=padded(flat["adv"], 0),
        log_probs=padded(flat["logp"], float("nan")),
        episodes=json.loads(meta["episodes"]),
        versions=json.loads(meta["versions"]),
    )


def read_model(directory: Path) -> PreTrainedModel:
    """The policy of a checkpoint's files, in float32."""
    return AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32)


def read_optimizer(directory: Path, model: PreTrainedModel, optimizer: torch.optim.AdamW) -> None:
    """Sets AdamW's moments and step; KeyError when a weight has none."""
    state = load_file(directory / OPTIMIZER)
    for name, p in model.named_parameters():
        optimizer.state[p] = {
            "step": state["step"].float(),
            "exp_avg": state["exp_avg." + name].clone(),
            "exp_avg_sq": state["exp_avg_sq." + name].clone(),
        }


def write_checkpoint(directory: Path, model: PreTrainedModel, optimizer: torch.optim.AdamW) -> None:
    """Writes the weights and AdamW's state, named as they were read."""
    directory.mkdir(parents=True, exist_ok=True)
    weights, state = {}, {}
    for name, p in model.named_parameters():
        s = optimizer.state[p]
        weights[name] = p.detach().contiguous()
        state["exp_avg." + name], state["exp_avg_sq." + name] = s["exp_avg"], s["exp_avg_sq"]
        state["step"] = s["step"].long()
    save_file(weights, directory / WEIGHTS, metadata={"format": "pt"})
    save_file(state, directory / OPTIMIZER, metadata={"format": "pt"})
