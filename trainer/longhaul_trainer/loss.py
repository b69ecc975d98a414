"""The losses of RL fine-tuning. tiny/nn/loss.go has the same under the same names, with sources; both are held to
testdata/losses.json. The keys of a Loss are those of `loss` in run.yaml.

Tensors are [rows, tokens]; log-probabilities are natural. What lies under a False of the mask is not looked at.
"""

import math
from dataclasses import dataclass, fields

import torch
from torch import Tensor


@dataclass(frozen=True)
class Loss:
    use: str = "ppo"  # ppo, cispo, gspo or sapo; dpo is a function of its own
    beta: float = 0.0  # dpo
    clip_low: float = 0.2
    clip_high: float = 0.28
    ratio_cap: float = 0.0  # ppo; 0: none
    tau_positive: float = 1.0  # sapo
    tau_negative: float = 1.05
    reduction: str = "token_mean"  # sequence_mean, constant or global_token_mean
    length: int = 0  # tokens that a row counts as under constant
    tokens: float = 0.0  # tokens that a step counts as under global_token_mean
    mismatch_cap: float = 0.0  # 0: no weights
    off_policy_mask: float = 0.0  # nats a token; 0: off
    kl: str = "k3"  # k1, k2 or k3
    kl_coef: float = 0.0
    kl_in: str = "loss"  # or reward: see penalised_advantages
    entropy_coef: float = 0.0


@dataclass
class Rows:
    new: Tensor  # under the policy that is trained; gradients run through it
    old: Tensor  # under the policy that ratios are taken against
    advantages: Tensor
    mask: Tensor  # bool
    sampler: Tensor | None = None  # as the engine gave them, NaN where it gave none; None: old
    weights: Tensor | None = None  # times each token's policy loss
    reference: Tensor | None = None
    entropy: Tensor | None = None  # of each token's distribution; gradients run through it


def policy_loss(c: Loss, new: Tensor, ratio: Tensor, advantages: Tensor) -> Tensor:
    """The policy loss of each token."""
    if c.use == "sapo":
        tau = torch.full_like(advantages, c.tau_negative)  # torch.where of two numbers would round them to float32
        tau[advantages > 0] = c.tau_positive
        return -4 / tau * torch.sigmoid(tau * (ratio - 1)) * advantages
    held = ratio.clamp(1 - c.clip_low, 1 + c.clip_high)
    if c.use == "cispo":
        return -held.detach() * advantages * new
    if c.use not in ("ppo", "gspo"):
        raise ValueError(f"loss {c.use!r} is unknown: want cispo, gspo, ppo or sapo")
    loss = torch.maximum(-ratio * advantages, -held * advantages)
    if c.ratio_cap > 0:
        loss = torch.where(advantages < 0, torch.minimum(loss, -c.ratio_cap * advantages), loss)
    return loss


def estimate(kind: str, x: Tensor) -> Tensor:
    """KL(p || q) at tokens that p chose, with x = log q - log p (Schulman 2020)."""
    match kind:
        case "k1":
            return -x
        case "k2":
            return x * x / 2
        case "k3":
            return x.exp() - 1 - x
    raise ValueError(f"estimator {kind!r} is unknown: want k1, k2 or k3")


def mismatch_weights(old: Tensor, sampler: Tensor, now: Tensor, limit: float) -> Tensor:
    """min(exp(old - sampler), limit); where the sampler gave NaN, the trainer's own of now stands in."""
    sampler = torch.where(sampler.isnan(), now.detach(), sampler)
    return (old - sampler).exp().clamp(max=limit)


def penalised_advantages(kind: str, coef: float, advantages: Tensor, old: Tensor, reference: Tensor, mask: Tensor) -> Tensor:
    """KL in the reward: each trained token's advantage less coef * (its estimate - the mean over all of them)."""
    penalty = estimate(kind, torch.where(mask, reference - old, 0))
    mean = penalty[mask].mean() if mask.any() else 0.0
    return torch.where(mask, advantages - coef * (penalty - mean), 0)


@dataclass(frozen=True)
class Size:
    """What a step counts, over however many parts its rows are computed in: the rows with a trained token, and those tokens."""

    rows: int
    tokens: int

    @staticmethod
    def of(mask: Tensor) -> "Size":
        return Size(int((mask.sum(-1) > 0).sum()), int(mask.sum()))


def reduce(c: Loss, loss: Tensor, mask: Tensor, size: Size) -> Tensor:
    """From tokens to a part's share of a step's loss; loss is 0 where mask is False. Rows without a trained token are not
    counted."""
    match c.reduction:
        case "token_mean":
            return loss.sum() / max(1, size.tokens)
        case "sequence_mean":
            return (loss.sum(-1) / mask.sum(-1).clamp(min=1)).sum() / max(1, size.rows)
        case "constant":
            return loss.sum() / (max(1, size.rows) * c.length)
        case "global_token_mean":
            return loss.sum() / c.tokens
    raise ValueError(f"reduction {c.reduction!r} is unknown: want constant, global_token_mean, sequence_mean or token_mean")


@dataclass
class Stats:
    """One or more optimiser steps, as nn.Stats: loss, kl, reference_kl and entropy are sums over the trained tokens, in nats, loss so
    scaled that loss / tokens is a step's whatever its reduction."""

    tokens: int = 0
    loss: float = 0.0
    kl: float = 0.0  # KL(sampler || new) by k3
    reference_kl: float = 0.0  # KL(new || reference) by k3
    entropy: float = 0.0
    clipped_low: int = 0
    clipped_high: int = 0
    off_policy: int = 0
    ratio_max: float = 0.0
    grad_norm: float = 0.0  # of several steps the greatest

    def infinite(self) -> str:
        """What is wrong where a number is infinite or none, which JSON has not: a sampled token's log-probability was so low that exp
        overflows."""
        for f in fields(self):
            if not math.isfinite(value := getattr(self, f.name)):
                return f"{f.name} is {value}: the log-probabilities that were recorded, and the policy's own, are of different policies"
        return ""

    def add(self, other: "Stats") -> None:
        for f in fields(self):
            mine, theirs = getattr(self, f.name), getattr(other, f.name)
            setattr(self, f.name, max(mine, theirs) if f.name in ("ratio_max", "grad_norm") else mine + theirs)


def batch_loss(c: Loss, rows: Rows, size: Size | None = None) -> tuple[Tensor, Stats]:
    """The share of rows in the loss of a step of that size, a scalar; None: they are all of it."""
    mask = rows.mask
    size = size or Size.of(mask)

    def clean(t: Tensor) -> Tensor:
        return torch.where(mask, t, 0)

    new, old, advantages = clean(rows.new), clean(rows.old), clean(rows.advantages)
    sampler = old if rows.sampler is None else clean(torch.where(rows.sampler.isnan(), new.detach(), rows.sampler))
    count = mask.sum(-1, keepdim=True).clamp(min=1)
    gap = new - old
    if c.use == "gspo":  # one ratio a row, whose gradient at each token is the token's own (GSPO-token)
        gap = gap.sum(-1, keepdim=True).detach() / count + new - new.detach()
    ratio = gap.exp()
    loss = policy_loss(c, new, ratio, advantages)
    dropped = torch.zeros_like(mask)
    if c.off_policy_mask > 0:
        fallen = (sampler - new.detach()).sum(-1, keepdim=True) / count
        dropped = mask & (advantages < 0) & (fallen > c.off_policy_mask)
        loss = torch.where(dropped, 0, loss)
    if rows.weights is not None:
        loss = loss * clean(rows.weights)
    if rows.reference is not None and c.kl_coef > 0 and c.kl_in == "loss":
        loss = loss + c.kl_coef * estimate(c.kl, clean(rows.reference) - new)
    if rows.entropy is not None and c.entropy_coef > 0:
        loss = loss - c.entropy_coef * clean(rows.entropy)
    total = reduce(c, clean(loss), mask, size)
    return total, stats(c, rows, ratio.detach(), sampler, dropped, total.item() * size.tokens)


@torch.no_grad()
def stats(c: Loss, rows: Rows, ratio: Tensor, sampler: Tensor, dropped: Tensor, loss: float) -> Stats:
    mask = rows.mask
    out = Stats(tokens=int(mask.sum()), loss=loss)
    if not out.tokens:
        return out
    low, high = ratio < 1 - c.clip_low, ratio > 1 + c.clip_high
    if c.use in ("ppo", "gspo"):
        capped = ratio > c.ratio_cap if c.ratio_cap > 0 else torch.zeros_like(mask)
        low, high = low & (rows.advantages < 0), high & (rows.advantages > 0) | capped & (rows.advantages < 0)
    if c.use == "sapo":
        low = high = torch.zeros_like(mask)

    def total(t: Tensor) -> float:
        return float(t.expand(mask.shape)[mask].double().sum())

    out.kl = total(estimate("k3", rows.new - sampler))
    out.clipped_low, out.clipped_high = int(total(low & ~dropped)), int(total(high & ~dropped))
    out.off_policy, out.ratio_max = int(total(dropped)), float(ratio.expand(mask.shape)[mask].max())
    if rows.reference is not None:
        out.reference_kl = total(estimate("k3", rows.reference - rows.new))
    if rows.entropy is not None:
        out.entropy = total(rows.entropy)
    return out


def dpo(beta: float, chosen: Tensor, rejected: Tensor, reference_chosen: Tensor, reference_rejected: Tensor) -> Tensor:
    """Direct preference optimisation: of each pair -log sigmoid(beta * margin), from log-probabilities of whole sequences, [pairs].
    R. Rafailov and others, 2023, arXiv:2305.18290."""
    margin = (chosen - reference_chosen) - (rejected - reference_rejected)
    return -torch.nn.functional.logsigmoid(beta * margin)


def cross_entropy(new: Tensor, mask: Tensor) -> Tensor:
    """Imitation of demonstrations: -new, token mean."""
    return -torch.where(mask, new, 0).sum() / mask.sum().clamp(min=1)
