"""An update: optimiser steps over a shuffled batch, as activities/train.go and tiny/nn/trainer.go make them. To rounding, the same
weights and metrics come out of the same batch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch import distributed as dist

from .batch import Row, trained_tokens
from .failure import Failure
from .loss import Loss, Rows, Size, Stats, batch_loss, dpo, mismatch_weights, penalised_advantages
from .packing import Pack
from .pairs import pairs_of
from .policy import Policy
from .shuffle import shuffle

Told = Callable[[str, int, int], None]  # what, how many are done, of how many


@dataclass(frozen=True)
class Optimiser:
    """The keys of `update` in run.yaml that a step needs."""

    learning_rate: float = 5e-4
    minibatches: int = 1
    beta1: float = 0.9
    beta2: float = 0.99
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0  # 0: never scaled down
    kl_stop: float = 0.0  # nats a token; 0: never
    row_tokens: int = 0  # tokens of a forward pass; 0: a row each


def adamw(policy: Policy, o: Optimiser) -> torch.optim.AdamW:
    """PyTorch's AdamW is tiny/nn/adamw.go, with decay on every weight and an epsilon of 1e-8."""
    return torch.optim.AdamW(
        policy.trained().values(), lr=o.learning_rate, betas=(o.beta1, o.beta2), eps=1e-8, weight_decay=o.weight_decay
    )


class Processes:
    """The processes that share the work: each takes every n-th pack."""

    def __init__(self):
        self.rank, self.n = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)

    def share(self, packs: list[Pack]) -> list[tuple[Pack, bool]]:
        """This process's packs, and whether each counts: a forward pass of sharded weights is one of all processes, so that one
        without work left goes over a pack again."""
        rounds = -(-len(packs) // self.n)
        mine = packs[self.rank :: self.n]
        return [(p, True) for p in mine] + [(p, False) for p in packs[:1]] * (rounds - len(mine))

    def total(self, stats: Stats) -> Stats:
        all_ = Stats()
        for one in self.gather(stats):
            all_.add(one)
        return all_

    def gather(self, mine) -> list:
        if self.n == 1:
            return [mine]
        out = [None] * self.n
        dist.all_gather_object(out, mine)
        return out


@torch.no_grad()
def score(policy: Policy, rows: Sequence[Row], temperature: float, row_tokens: int, told: Callable[[int, int], None]) -> list[Tensor]:
    """The log-probabilities of each row's trained tokens, f32 [trained]."""
    processes = Processes()
    packs = policy.passes([[row] for row in rows], row_tokens)
    found: dict[int, Tensor] = {}
    for i, (part, counts) in enumerate(processes.share(packs)):
        new = policy.log_probs(part, temperature)[0].float().cpu()
        if counts:
            found |= {id(row): values for row, values in zip(part.rows, new.split([len(row.at) for row in part.rows]))}
        told((i + 1) * processes.n, len(packs))
    index = {id(row): i for i, row in enumerate(rows)}
    merged: dict[int, Tensor] = {}
    for part in processes.gather({index[key]: values for key, values in found.items()}):
        merged |= part
    return [merged.get(i, torch.zeros(0)) for i in range(len(rows))]


def penalise(rows: Sequence[Row], loss: Loss) -> None:
    """KL in the reward, over all rows of the update."""

    def column(values: list[Tensor]) -> Tensor:
        return torch.cat(values)[None]

    old = column([row.sampler if row.old is None else row.old for row in rows])
    advantages, reference = column([row.advantages for row in rows]), column([row.reference for row in rows])
    lowered = penalised_advantages(loss.kl, loss.kl_coef, advantages, old, reference, torch.ones_like(old, dtype=torch.bool))
    for row, values in zip(rows, lowered[0].split([len(row.at) for row in rows])):
        row.advantages = values


class Trainer:
    """Makes optimiser steps on a policy."""

    def __init__(self, policy: Policy, optimizer: torch.optim.AdamW, loss: Loss, o: Optimiser, temperature: float):
        self.policy, self.optimizer, self.loss, self.o, self.temperature = policy, optimizer, loss, o, temperature
        self.processes = Processes()

    def step(self, units: Sequence[Sequence[Row]]) -> Stats:
        """One step on units: rows, or pairs of them. Without a trained token it changes nothing; nor does a gradient that is not
        finite, which is an ArithmeticError."""
        packs = self.policy.passes(units, self.o.row_tokens)
        if not packs:
            return Stats()
        rows = [row for part in packs for row in part.rows]
        size = Size(rows=len(rows), tokens=trained_tokens(rows))
        share = self.pair_loss if self.loss.use == "dpo" else self.policy_loss
        self.optimizer.zero_grad()
        stats = Stats()
        for part, counts in self.processes.share(packs):
            value, s = share(part, size)
            (value * (self.processes.n if counts else 0)).backward()  # sharded gradients are means over the processes
            if counts:
                stats.add(s)
        stats = self.processes.total(stats)
        stats.grad_norm = self.clip()
        self.optimizer.step()
        return stats

    def policy_loss(self, part: Pack, size: Size) -> tuple[Tensor, Stats]:
        """A pack's share of the loss of a step."""
        new, entropy = self.policy.log_probs(part, self.temperature, self.loss.entropy_coef > 0)
        sampler, old = part.column("sampler"), part.column("old")
        rows = Rows(
            new=part.by_row(new), old=sampler if old is None else old, advantages=part.column("advantages"), mask=part.mask(),
            reference=part.column("reference"), entropy=part.by_row(entropy),
        )
        if self.loss.mismatch_cap > 0:
            rows.sampler = sampler
            rows.weights = mismatch_weights(rows.old, sampler, rows.new, self.loss.mismatch_cap)
        return batch_loss(self.loss, rows, size)

    def pair_loss(self, part: Pack, size: Size) -> tuple[Tensor, Stats]:
        """The same of pairs, each a chosen row and a rejected one."""
        new, entropy = self.policy.log_probs(part, self.temperature)
        sums, reference = part.by_row(new).sum(-1), part.column("reference").sum(-1)
        losses = dpo(self.loss.beta, sums[0::2], sums[1::2], reference[0::2], reference[1::2])
        value = losses.sum() / (size.rows / 2)
        return value, Stats(tokens=len(new), loss=value.item() * size.tokens, entropy=float(entropy.double().sum()))

    def clip(self) -> float:
        """Scales the gradient down to max_grad_norm, and returns the norm that it had."""
        grads = [p.grad for p in self.policy.trained().values() if p.grad is not None]
        local = [g.to_local() if hasattr(g, "to_local") else g for g in grads]
        square = sum(float(g.double().square().sum()) for g in local)
        norm = sum(self.processes.gather(square)) ** 0.5
        if not norm < float("inf"):
            raise ArithmeticError("the gradient is not finite")
        if self.o.max_grad_norm > 0 and norm > self.o.max_grad_norm:
            for g in local:
                g.mul_(self.o.max_grad_norm / norm)
        return norm

    def update(self, rows: list[Row], seed: int, where: str, told: Told) -> dict[str, float]:
        """The steps of an update, each on a part of the shuffled batch, and the update's metrics. Once a step's KL to the behaviour
        policy passes kl_stop the rest is not learnt from."""
        tokens = trained_tokens(rows)
        units = pairs_of(rows) if self.loss.use == "dpo" else [(row,) for row in rows]
        shuffle(units, seed)
        n, total, first, steps = self.o.minibatches, Stats(), None, 0
        for i in range(n):
            part = units[i * len(units) // n : (i + 1) * len(units) // n]
            if not part:
                continue
            try:
                s = self.step(part)
            except ArithmeticError as e:
                raise Failure("invalid", f"{where}, minibatch {i}", str(e)) from e
            if wrong := s.infinite():
                raise Failure("invalid", f"{where}, minibatch {i}", wrong)
            first, steps = first or replace(s), steps + 1
            total.add(s)
            told("minibatches", i + 1, n)
            if self.o.kl_stop > 0 and s.kl > self.o.kl_stop * s.tokens:
                break
        m = describe(total, first or Stats(), self.loss) | {"minibatches": float(steps), "tokens": float(tokens)}
        return m | {"pairs": float(len(units))} if self.loss.use == "dpo" else m


def describe(s: Stats, first: Stats, loss: Loss) -> dict[str, float]:
    """The metrics of an update, by the token where that makes sense, under the names that the embedded trainer uses."""
    n = max(1, s.tokens)
    m = {"loss": s.loss / n, "entropy": s.entropy / n, "grad_norm": s.grad_norm}
    if loss.use == "dpo":
        return m
    m |= {
        "kl": s.kl / n, "ratio_max": s.ratio_max, "clip_fraction": (s.clipped_low + s.clipped_high) / n,
        "clip_low_fraction": s.clipped_low / n, "clip_high_fraction": s.clipped_high / n,
        # Before its first step the trainer has the weights that it was given: what the KL is then, the engine is to blame for,
        # and the versions that stale rows lag behind.
        "mismatch_kl": first.kl / max(1, first.tokens),
    }
    if loss.off_policy_mask > 0:
        m["off_policy_masked_fraction"] = s.off_policy / n
    if loss.kl_coef > 0:
        m["reference_kl"] = s.reference_kl / n
    return m
