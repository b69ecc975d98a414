"""The policy: a model of transformers from a checkpoint's files, trained whole or by an adapter, on one device or sharded.

Weights go from the files to where they stay one layer at a time, and back one tensor at a time: a process needs memory for its
shard and a layer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.initialization import no_init_weights

from .batch import Row
from .failure import Failure
from .files import ADAPTER_CONFIG, OPTIMIZER, weight_files
from .packing import Pack, pack
from .tensors import Tensors


if TYPE_CHECKING:
    from .adapter import Adapter
    from .shard import Shards


@dataclass(frozen=True)
class Settings:
    """The keys of `update` in run.yaml that say how the policy is held."""

    lora_rank: int | None = 0  # 0: all weights are trained; None: an adapter or not, as the files have it
    lora_alpha: float = 0.0
    precision: str = "float32"  # or bfloat16, of the forward and backward pass; trained weights are float32 always
    gradient_checkpointing: str = "off"


class Policy:
    """A model and the names that its weights have in a checkpoint's files."""

    def __init__(self, directory: Path, settings: Settings, seed: int, device: torch.device, shards: Shards | None = None):
        """Failures: invalid or corrupt, when the files do not make a model that can be trained so."""
        self.directory, self.settings, self.device, self.shards = directory, settings, device, shards
        try:
            self.config = AutoConfig.from_pretrained(directory)
            with no_init_weights():  # memory that nobody touches is not taken
                self.model = AutoModelForCausalLM.from_config(self.config, attn_implementation="sdpa")
            self.model.tie_weights()
        except (OSError, ValueError, KeyError) as e:
            raise Failure("invalid", "base checkpoint config.json", str(e)) from e
        self.adapter: Adapter | None = None
        if settings.lora_rank or (directory / ADAPTER_CONFIG).exists():
            from . import adapter  # peft takes seconds

            self.adapter = adapter.Adapter.of(directory, self.model, settings.lora_rank, settings.lora_alpha, seed)
        for module in self.model.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0
            if hasattr(module, "attention_dropout"):
                module.attention_dropout = 0.0
        names = dict(self.model.named_parameters(remove_duplicate=False))
        if self.adapter:
            for name, p in names.items():
                p.requires_grad_(self.adapter.owns(name))
        self._materialise(names)
        if settings.gradient_checkpointing == "on":
            self.model.activation_checkpointing_enable({"use_reentrant": False})
        self.model.to(device).train()

    @property
    def vocabulary(self) -> int:
        return self.config.get_text_config().vocab_size

    @property
    def context(self) -> int | None:
        return getattr(self.config.get_text_config(), "max_position_embeddings", None)

    @property
    def packs(self) -> bool:
        """Whether a pass may have several rows: nothing but attention, which can be told who sees whom, goes from token to token. The
        state of a Mamba, an RWKV or a linear attention would run from a row into the next."""
        return not self.model._is_stateful

    @property
    def shares(self) -> bool:
        """Whether rows may share what they begin with: every layer takes a mask of whole attention as it is."""
        c = self.config.get_text_config()
        return self.packs and set(getattr(c, "layer_types", None) or ["full_attention"]) == {"full_attention"} and not getattr(c, "sliding_window", None)

    def passes(self, units: Sequence[Sequence[Row]], row_tokens: int) -> list[Pack]:
        """Packs of whole units, as this model takes them. Failures: invalid, for a unit of several rows where a pass has one."""
        if not self.packs and any(len(unit) > 1 for unit in units):
            raise Failure("invalid", "loss.use", f"a pair goes through the model in one pass, and the state of {self.config.model_type} would run from a row into the next")
        return pack(units, row_tokens if self.packs else 0, self.device, self.shares)

    def trained(self) -> dict[str, nn.Parameter]:
        """The trained weights, by their names in the checkpoint's files."""
        return {self.file_name(name): p for name, p in self.model.named_parameters() if p.requires_grad}

    def file_name(self, name: str) -> str:
        return self.adapter.file_name(name) if self.adapter else name

    def log_probs(self, pack: Pack, temperature: float, entropy: bool = False) -> tuple[Tensor, Tensor]:
        """Each trained token's log-probability under softmax(logits / temperature), and the entropy of that distribution, both
        [trained]; gradients run through the latter when they are asked for. Temperature 0 is greedy play, whose log-probabilities
        are those of 1."""
        half = self.settings.precision == "bfloat16"
        sees = pack.sees(torch.bfloat16 if half else torch.float32)  # of the queries' type, or every layer makes and keeps one that is
        with torch.autocast(self.device.type, torch.bfloat16, enabled=half):
            out = self.model(input_ids=pack.tokens, position_ids=pack.positions, attention_mask=sees, logits_to_keep=pack.before, use_cache=False)
        logs = (out.logits[0].float() / (temperature or 1.0)).log_softmax(-1)
        chosen = logs.gather(-1, pack.chosen[:, None]).squeeze(-1)
        with torch.set_grad_enabled(entropy and torch.is_grad_enabled()):
            return chosen, -(logs.exp() * logs).sum(-1)

    @contextmanager
    def base(self) -> Iterator[None]:
        """The policy without its adapter."""
        self.adapter.enable(self.model, False)
        try:
            yield
        finally:
            self.adapter.enable(self.model, True)

    def _materialise(self, names: dict[str, nn.Parameter]) -> None:
        """Puts the files' weights where empty ones are, and shards them: layer by layer, then what is left."""
        by_id = {id(p): name for name, p in reversed(names.items())}
        made: dict[int, nn.Parameter] = {}  # by the id of the one whose place it takes; names keeps those alive
        optimizer = self.directory / OPTIMIZER
        frozen = torch.bfloat16 if self.adapter and self.settings.precision == "bfloat16" else torch.float32
        with Tensors(weight_files(self.directory)) as weights, Tensors([optimizer] if optimizer.exists() else []) as state:

            def value(name: str, p: nn.Parameter) -> Tensor:
                if self.adapter and self.adapter.owns(name):
                    return self.adapter.value(name, p.shape)
                plain = self.adapter.base_name(name) if self.adapter else name
                master = "master." + plain
                source = state if not self.adapter and master in state else weights
                return source.get(master if source is state else plain, p.shape).to(frozen, copy=True)

            def fill(module: nn.Module) -> None:
                for part in module.modules():
                    for key, p in part._parameters.items():
                        if id(p) in by_id:
                            if id(p) not in made:
                                made[id(p)] = nn.Parameter(value(by_id[id(p)], p), p.requires_grad)
                            part._parameters[key] = made[id(p)]

            for module in [*self._layers(), self.model]:
                fill(module)
                if self.shards:
                    self.shards.shard(module, self.settings.precision == "bfloat16")

    def _layers(self) -> list[nn.Module]:
        n = self.config.get_text_config().num_hidden_layers
        return list(next(m for m in self.model.modules() if isinstance(m, nn.ModuleList) and len(m) == n))

    def whole(self, t: Tensor) -> Tensor:
        """A weight, or what belongs to it, from all its shards where it is in some. All processes must ask at once."""
        t = t.detach()
        return t.full_tensor() if hasattr(t, "full_tensor") else t

    def like(self, t: Tensor, p: nn.Parameter) -> Tensor:
        """t, in shards as p is."""
        return self.shards.like(t, p) if self.shards else t.to(p.device, copy=True)
