"""One optimiser step, the same as the embedded trainer's (tiny/nn/trainer.go and dpo.go, activities/train.go): to rounding, the
same weights come out of the same batch."""

from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedModel

from .loss import Loss, Rows, batch_loss, cross_entropy, dpo, mismatch_weights, penalised_advantages
from .wire import Batch


@dataclass(frozen=True)
class Optimiser:
    """The keys of `update` in run.yaml that a step needs."""

    learning_rate: float = 5e-4
    beta1: float = 0.9
    beta2: float = 0.99
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0  # 0: never scaled down


def adamw(model: PreTrainedModel, o: Optimiser) -> torch.optim.AdamW:
    """PyTorch's AdamW is tiny/nn/adamw.go, with decay on every weight and an epsilon of 1e-8."""
    return torch.optim.AdamW(
        model.parameters(), lr=o.learning_rate, betas=(o.beta1, o.beta2), eps=1e-8, weight_decay=o.weight_decay
    )


def log_probs(model: PreTrainedModel, tokens: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """Each token's log-probability under softmax(logits / temperature), and the entropy of that distribution, both
    [rows, tokens]; 0 for the first token, which nothing predicts. Padding is on the right, where causal attention does not
    look. Temperature 0 is greedy play, whose log-probabilities are those of 1."""
    logits = model(input_ids=tokens).logits[:, :-1] / (temperature or 1.0)
    all_ = logits.log_softmax(-1)
    chosen = all_.gather(-1, tokens[:, 1:, None]).squeeze(-1)
    entropy = -(all_.exp() * all_).sum(-1)
    return tuple(torch.nn.functional.pad(t, (1, 0)) for t in (chosen, entropy))


@dataclass
class Prepared:
    """A batch with what its loss needs under policies that do not move while the update goes on."""

    batch: Batch
    old: Tensor
    advantages: Tensor
    reference: Tensor | None = None


@torch.no_grad()
def prepare(batch: Batch, loss: Loss, model: PreTrainedModel, reference: PreTrainedModel | None, temperature: float) -> Prepared:
    """Old log-probabilities are the sampler's, or with a mismatch cap the model's own as it is now."""
    p = Prepared(batch, old=batch.log_probs, advantages=batch.advantages)
    if loss.mismatch_cap > 0:
        p.old = log_probs(model, batch.tokens, temperature)[0]
    if loss.kl_coef == 0 and loss.use != "dpo":
        return p
    if reference is None:
        raise ValueError(f"{loss.use} with a kl_coef of {loss.kl_coef} needs a reference policy")
    p.reference = log_probs(reference, batch.tokens, temperature)[0]
    if loss.kl_coef > 0 and loss.kl_in == "reward":
        p.advantages = penalised_advantages(loss.kl, loss.kl_coef, p.advantages, p.old, p.reference, batch.mask)
    return p


def step(model: PreTrainedModel, optimizer: torch.optim.AdamW, p: Prepared, loss: Loss, temperature: float, max_grad_norm: float) -> dict[str, float]:
    """Makes one optimiser step and returns its metrics. A batch without a trained token changes nothing; nor does a gradient
    that is not finite, which is an ArithmeticError."""
    mask = p.batch.mask
    if not mask.any():
        return {"loss": 0.0}
    new, entropy = log_probs(model, p.batch.tokens, temperature)
    rows = Rows(new=new, old=p.old, advantages=p.advantages, mask=mask, reference=p.reference, entropy=entropy)
    if loss.mismatch_cap > 0:
        rows.sampler = p.batch.log_probs
        rows.weights = mismatch_weights(p.old, rows.sampler, new, loss.mismatch_cap)
    value, metrics = batch_loss(loss, rows)
    return metrics | {"grad_norm": descend(model, optimizer, value, max_grad_norm)}


def step_on_pairs(
    model: PreTrainedModel, optimizer: torch.optim.AdamW, p: Prepared, pairs: Tensor, beta: float, temperature: float, max_grad_norm: float
) -> dict[str, float]:
    """Step with the loss dpo. pairs are row numbers of the batch, [pairs, 2]: the chosen answer and the rejected one."""
    new, entropy = log_probs(model, p.batch.tokens, temperature)

    def answers(t: Tensor) -> Tensor:
        return torch.where(p.batch.mask, t, 0).sum(-1)[pairs.T]

    (chosen, rejected), references = answers(new), answers(p.reference)
    value = dpo(beta, chosen, rejected, *references)
    seen = p.batch.mask[pairs]
    return {"loss": value.item(), "entropy": entropy[pairs][seen].mean().item(), "grad_norm": descend(model, optimizer, value, max_grad_norm)}


def imitate(model: PreTrainedModel, optimizer: torch.optim.AdamW, batch: Batch, max_grad_norm: float) -> dict[str, float]:
    """Step on demonstrations, as in the warm-up: at temperature 1, whatever is sampled with."""
    new, entropy = log_probs(model, batch.tokens, 1)
    value = cross_entropy(new, batch.mask)
    return {"loss": value.item(), "entropy": entropy[batch.mask].mean().item(), "grad_norm": descend(model, optimizer, value, max_grad_norm)}


def descend(model: PreTrainedModel, optimizer: torch.optim.AdamW, value: Tensor, max_grad_norm: float) -> float:
    """The optimiser's step down a loss; the gradient's norm before it was scaled down."""
    optimizer.zero_grad()
    value.backward()
    grads = [w.grad for w in model.parameters() if w.grad is not None]
    norm = torch.linalg.vector_norm(torch.stack([g.double().norm() for g in grads])).item()
    if not norm < float("inf"):
        raise ArithmeticError("the gradient is not finite")
    if max_grad_norm > 0 and norm > max_grad_norm:
        for g in grads:
            g.mul_(max_grad_norm / norm)
    optimizer.step()
    return norm
