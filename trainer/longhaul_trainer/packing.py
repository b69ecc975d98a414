"""Rows laid end to end, so that a forward pass has about as many tokens whatever the rows' lengths, and what several of them begin
with laid once: the prompt of a group, the history of an episode whose rows part in its middle.

Each row counts its positions from 0 and sees only itself. Where nothing is shared, transformers makes the block-diagonal mask from
positions that begin anew (find_packed_sequence_indices in its masking_utils.py), and attention kernels for packed sequences are
given the same. Where something is, rows are the paths of a tree of tokens, and a mask says who is before whom.
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
    runs: list[tuple[int, int, int]]  # of tokens one after the other: where, how many, and which token the first goes on from; -1: none
    before: Tensor  # i64 [trained]: where the logits are that predict each trained token
    chosen: Tensor  # i64 [trained]: those tokens

    def by_row(self, flat: Tensor) -> Tensor:
        """[trained] as [rows, longest], 0 in the padding."""
        return torch.nn.utils.rnn.pad_sequence(flat.split([len(row.at) for row in self.rows]), batch_first=True)

    def sees(self, dtype: torch.dtype) -> Tensor | None:
        """What attention adds to its scores, [1, 1, tokens, tokens]: 0 where a token attends to another, else -inf. None where each
        attends to those of its row up to itself. Too large to be kept: of the packs of a step, only the one in a pass has it."""
        if all(ahead < 0 for _, _, ahead in self.runs):
            return None
        n = self.tokens.shape[1]
        sees = torch.full((n, n), -torch.inf, dtype=dtype, device=self.tokens.device)
        for at, n, ahead in self.runs:
            if ahead >= 0:
                sees[at : at + n] = sees[ahead]
            sees[at : at + n, at : at + n].triu_(1)
        return sees[None, None]

    def mask(self) -> Tensor:
        return self.by_row(torch.ones_like(self.chosen, dtype=torch.bool))

    def column(self, name: str) -> Tensor | None:
        """What the rows have under a name, [rows, longest]; None where they have none."""
        values = [getattr(row, name) for row in self.rows]
        if values[0] is None:
            return None
        return torch.nn.utils.rnn.pad_sequence(values, batch_first=True).to(self.chosen.device)


def pack(units: Sequence[Sequence[Row]], row_tokens: int, device: torch.device, share: bool = True) -> list[Pack]:
    """Packs of at most row_tokens tokens, of whole units: a unit that is longer, and with row_tokens 0 every one, is a pack of its
    own. With share, units that begin alike come together, and what they begin with counts once; else they keep their order.
    Rows without a trained token are left out."""
    kept = [rows for unit in units if (rows := [row for row in unit if len(row.at)])]
    if share:
        kept.sort(key=lambda rows: order(rows[0]))
    packs: list[list[Row]] = []
    room = 0
    for rows in kept:
        last = packs[-1][-1] if packs and share else None
        size = added(rows, last, share)
        if not packs or size > room:
            packs.append([])
            room, size = row_tokens, added(rows, None, share)
        packs[-1] += rows
        room -= size
    return [lay(rows, device, share) for rows in packs]


def order(row: Row) -> bytes:
    """Sorts rows by their tokens."""
    return row.tokens.numpy().astype(">i8").tobytes()


def common(a: Tensor, b: Tensor) -> int:
    """How many tokens two rows begin with alike."""
    n = min(len(a), len(b))
    differ = (a[:n] != b[:n]).nonzero()
    return int(differ[0]) if len(differ) else n


def added(rows: Sequence[Row], last: Row | None, share: bool) -> int:
    """How many tokens rows add to a pack that ends with last, at most."""
    n = 0
    for row in rows:
        n += len(row.tokens) - (common(row.tokens, last.tokens) if share and last else 0)
        last = row
    return n


def lay(rows: list[Row], device: torch.device, share: bool = True) -> Pack:
    """One pack of rows, which keep their order: only their tokens are laid in an order of their own."""
    laid, positions, paths, runs, at = [], [], {}, [], 0
    last, path = None, torch.zeros(0, dtype=torch.long)
    for i in sorted(range(len(rows)), key=lambda i: order(rows[i])) if share else range(len(rows)):
        tokens = rows[i].tokens
        shared = common(tokens, last) if share and last is not None else 0
        n = len(tokens) - shared
        runs.append((at, n, int(path[shared - 1]) if shared else -1))
        path = torch.cat([path[:shared], torch.arange(at, at + n)])
        laid.append(tokens[shared:])
        positions.append(torch.arange(shared, len(tokens)))
        paths[i], last, at = path, tokens, at + n
    return Pack(
        rows=rows,
        tokens=torch.cat(laid)[None].to(device),
        positions=torch.cat(positions)[None].to(device),
        runs=runs,
        before=torch.cat([paths[i][row.at - 1] for i, row in enumerate(rows)]).to(device),
        chosen=torch.cat([row.tokens[row.at] for row in rows]).to(device),
    )
