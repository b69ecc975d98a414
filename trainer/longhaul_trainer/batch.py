"""The batch of an update (store/batch.go), as rows that know which of their tokens are trained."""

import json
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from .failure import Failure

SCHEMA = "longhaul/batch/1"
COLUMNS = {"tok": torch.int32, "mask": torch.bool, "adv": torch.float32, "logp": torch.float32, "cu_seqlens": torch.int64}


@dataclass
class Row:
    """Tokens, and of those that are trained their positions and what the loss asks of each."""

    tokens: Tensor  # i64 [tokens]
    at: Tensor  # i64 [trained]
    advantages: Tensor  # f32 [trained], as all that follow
    sampler: Tensor  # log-probabilities as sampled
    episode: dict
    old: Tensor | None = None  # what ratios are taken against; None: sampler
    reference: Tensor | None = None


def read_batch(path: Path) -> list[Row]:
    """Failures: corrupt when it is not of this schema or contradicts itself, invalid when it is of a newer one."""

    def corrupt(message: str) -> Failure:
        return Failure("corrupt", f"batch {path.name}", message)

    try:
        with safe_open(path, framework="pt") as f:
            meta = f.metadata() or {}
            flat = {name: f.get_tensor(name) for name in f.keys()}
        episodes = json.loads(meta.get("episodes", "null"))
    except (SafetensorError, ValueError) as e:
        raise corrupt(str(e)) from e
    if (schema := meta.get("schema", "")) != SCHEMA:
        kind = "invalid" if schema.startswith("longhaul/batch/") else "corrupt"
        raise Failure(kind, f"batch {path.name}", f"its schema is {schema!r}, not {SCHEMA!r}")
    if {name: t.dtype for name, t in flat.items() if t.dim() == 1} != COLUMNS:
        raise corrupt(f"its columns are {sorted(flat)}, or not of the types of {sorted(COLUMNS)}")
    starts = flat.pop("cu_seqlens").tolist()
    cut = all(a < b for a, b in zip(starts, starts[1:])) and starts[:1] == [0]
    if not isinstance(episodes, list) or not cut or any(len(t) != starts[-1] for t in flat.values()) or len(starts) != len(episodes) + 1:
        raise corrupt("cu_seqlens does not cut its tokens into rows, one an episode")
    rows = []
    for i, episode in enumerate(episodes):
        tok, mask, adv, logp = (flat[name][starts[i] : starts[i + 1]] for name in ("tok", "mask", "adv", "logp"))
        if (tok < 0).any() or mask[0] or not adv[mask].isfinite().all() or not logp[mask].isfinite().all():
            raise corrupt(f"row {i} has a negative token, a loss at its first one, or a number that is not finite where there is a loss")
        rows.append(Row(tok.long(), mask.nonzero().squeeze(-1), adv[mask], logp[mask], episode))
    return rows


def trained_tokens(rows: list[Row]) -> int:
    return sum(len(row.at) for row in rows)


def check_rows(rows: list[Row], vocabulary: int, context: int | None) -> None:
    """Failure: invalid when the model has no such token, or no room for a row."""
    for i, row in enumerate(rows):
        if context and len(row.tokens) > context:
            raise Failure("invalid", f"batch row {i}", f"it has {len(row.tokens)} tokens, the model's context is {context}")
        if int(row.tokens.max()) >= vocabulary:
            raise Failure("invalid", f"batch row {i}", f"token {int(row.tokens.max())} is outside of the vocabulary of {vocabulary}")
