"""Rows laid end to end, so that a forward pass has about as many tokens whatever the rows' lengths.

Each row counts its positions from 0 and sees only itself: transformers makes the block-diagonal mask from positions that begin
anew (find_packed_sequence_indices in its masking_utils.py), and attention kernels for packed sequences are given the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .batch import Row


@dataclass
class Pack:
    """Rows that go through the model at once. Tensors are on the model's device."""

    rows: list[Row]
    tokens: Tensor  # i64 [1, tokens]
    positions: Tensor  # i64 [1, tokens]
    before: Tensor  # i64 [trained]: where the logits are that predict each trained token
    chosen: Tensor  # i64 [trained]: those tokens

    def by_row(self, flat: Tensor) -> Tensor:
        """[trained] as [rows, longest], 0 in the padding."""
        return torch.nn.utils.rnn.pad_sequence(flat.split([len(row.at) for row in self.rows]), batch_first=True)

    def mask(self) -> Tensor:
        return self.by_row(torch.ones_like(self.chosen, dtype=torch.bool))

    def column(self, name: str) -> Tensor | None:
        """What the rows have under a name, [rows, longest]; None where they have none."""
        values = [getattr(row, name) for row in self.rows]
        if values[0] is None:
            return None
        return torch.nn.utils.rnn.pad_sequence(values, batch_first=True).to(self.chosen.device)


def pack(units: Sequence[Sequence[Row]], row_tokens: int, device: torch.device) -> list[Pack]:
    """Packs of at most row_tokens tokens, of whole units in their order: a unit that is longer, and with row_tokens 0 every one,
    is a pack of its own. Rows without a trained token are left out."""
    packs: list[list[Row]] = []
    room = 0
    for unit in units:
        rows = [row for row in unit if len(row.at)]
        size = sum(len(row.tokens) for row in rows)
        if not rows:
            continue
        if not packs or size > room:
            packs.append([])
            room = row_tokens
        packs[-1] += rows
        room -= size
    return [lay(rows, device) for rows in packs]


def lay(rows: list[Row], device: torch.device) -> Pack:
    starts = torch.tensor([0] + [len(row.tokens) for row in rows]).cumsum(0).tolist()
    return Pack(
        rows=rows,
        tokens=torch.cat([row.tokens for row in rows])[None].to(device),
        positions=torch.cat([torch.arange(len(row.tokens)) for row in rows])[None].to(device),
        before=torch.cat([row.at - 1 + start for row, start in zip(rows, starts)]).to(device),
        chosen=torch.cat([row.tokens[row.at] for row in rows]).to(device),
    )
