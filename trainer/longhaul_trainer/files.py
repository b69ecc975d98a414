"""The names of a checkpoint's files: those of Hugging Face, and the optimiser's beside them."""

import json
from pathlib import Path

from .failure import Failure

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
ADAPTER, ADAPTER_CONFIG = "adapter_model.safetensors", "adapter_config.json"
OPTIMIZER = "optimizer.safetensors"


def weight_files(directory: Path) -> list[Path]:
    """The files of a model's weights: one, or those that its index names."""
    index = directory / INDEX
    if not index.exists():
        return [directory / WEIGHTS]
    try:
        names = set(json.loads(index.read_text())["weight_map"].values())
    except (ValueError, KeyError, AttributeError, TypeError) as e:
        raise Failure("corrupt", f"base checkpoint {INDEX}", f"it names no files: {e}") from e
    return [directory / Path(name).name for name in sorted(names)]
