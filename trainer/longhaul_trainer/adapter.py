"""A LoRA adapter on every linear layer but the output: E. Hu and others, LoRA, 2021, arXiv:2106.09685; peft does the arithmetic."""

import hashlib
import json
import math
from pathlib import Path

import torch
from peft import LoraConfig, inject_adapter_in_model
from peft.tuners.lora import LoraLayer
from torch import Tensor, nn

from .failure import Failure
from .files import ADAPTER, ADAPTER_CONFIG
from .tensors import Tensors

PREFIX, NAME = "base_model.model.", "default"  # what peft adds to names: in files, and in a model

# What of adapter_config.json is looked at by itself, or changes no arithmetic; and the ways to begin an adapter that changed its base.
READ = {"r", "lora_alpha", "target_modules", "init_lora_weights"}
IDLE = {"task_type", "base_model_name_or_path", "revision", "lora_dropout", "inference_mode", "auto_mapping", "peft_version"}
FROM_BASE = ("pissa", "olora", "corda", "loftq", "lora_ga")


class Adapter:
    """An adapter in a model, and the names that its weights have in files."""

    def __init__(self, model: nn.Module, rank: int, alpha: float, seed: int, path: Path | None):
        """From the file at path; None: a new one, which changes nothing yet."""
        self.rank, self.alpha, self.seed = rank, alpha, seed
        config = LoraConfig(r=rank, lora_alpha=alpha, target_modules="all-linear", task_type="CAUSAL_LM")
        inject_adapter_in_model(config, model, NAME)
        self.targets = sorted({name.rsplit(".", 1)[-1] for name, m in model.named_modules() if isinstance(m, LoraLayer)})
        self.file = Tensors([path]) if path else None

    @staticmethod
    def of(directory: Path, model: nn.Module, rank: int | None, alpha: float, seed: int) -> "Adapter":
        """The adapter of a checkpoint, or a new one; rank None: the checkpoint's, of whatever rank. Failure: invalid when it is of another
        rank than is asked for, or of a kind that would be trained as if it were none."""
        path = directory / ADAPTER_CONFIG
        asked = rank, alpha or 2 * (rank or 0)
        if not path.exists():
            return Adapter(model, *asked, seed, None)
        try:
            had = json.loads(path.read_text())
            was = had["r"], had["lora_alpha"]
        except (ValueError, KeyError, TypeError) as e:
            raise Failure("corrupt", f"base checkpoint {ADAPTER_CONFIG}", str(e)) from e
        refuse(foreign(had))
        if rank is not None and was != asked:
            raise Failure("invalid", "update.lora_rank", f"the base checkpoint's adapter has rank and alpha {was}, not {asked}")
        adapter = Adapter(model, *was, seed, directory / ADAPTER)
        on = had.get("target_modules")
        if isinstance(on, list) and {name.rsplit(".", 1)[-1] for name in on} != set(adapter.targets):
            refuse([f"target_modules {sorted(on)}, not {adapter.targets}"])
        return adapter

    def owns(self, name: str) -> bool:
        return ".lora_" in name

    def file_name(self, name: str) -> str:
        return PREFIX + name.replace(f".{NAME}.", ".")

    def base_name(self, name: str) -> str:
        return name.replace(".base_layer.", ".")

    def value(self, name: str, shape: torch.Size) -> Tensor:
        """A weight as the adapter begins, float32. A new one draws A as peft does, from the seed and the weight's name, and has B 0."""
        if self.file:
            return self.file.get(self.file_name(name), shape).to(torch.float32, copy=True)
        new = torch.zeros(shape)
        if ".lora_A." in name:
            seed = int.from_bytes(hashlib.sha256(f"{self.seed} {name}".encode()).digest()[:8], "little", signed=True)
            nn.init.kaiming_uniform_(new, a=math.sqrt(5), generator=torch.Generator().manual_seed(seed))
        return new

    def enable(self, model: nn.Module, on: bool) -> None:
        """Without peft's enable_adapters, which makes weights untrainable for the time: sharded ones would stay so."""
        for module in model.modules():
            if isinstance(module, LoraLayer):
                module._disable_adapters = not on

    def write_config(self, path: Path, base: str) -> None:
        """What peft and vLLM read beside the weights; the same adapter gives the same bytes."""
        path.write_text(json.dumps({
            "peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": base, "r": self.rank, "lora_alpha": self.alpha,
            "lora_dropout": 0.0, "bias": "none", "target_modules": self.targets, "inference_mode": True,
        }, indent=1, sort_keys=True) + "\n")


def foreign(had: dict) -> list[str]:
    """What an adapter's configuration says that is not done here (rsLoRA's scale, DoRA, biases, whole modules ...): whatever differs from
    peft's defaults, so that a newer peft's inventions are refused, too."""
    usual = LoraConfig().to_dict()
    said = [f"{key} {value}" for key, value in had.items() if key not in READ | IDLE and value and value != usual.get(key)]
    if str(way := had.get("init_lora_weights")).lower().startswith(FROM_BASE):
        said.append(f"init_lora_weights {way}")
    return said


def refuse(said: list[str]) -> None:
    if said:
        what = f"an adapter with {', '.join(said)} is not trained here; merge it into its base (peft's merge_and_unload) and start from that"
        raise Failure("invalid", f"base checkpoint {ADAPTER_CONFIG}", what)
