"""Tensors to and from safetensors files one at a time, so that a file never is in memory as a whole."""

import json
import struct
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from .failure import Failure

NAMES = {torch.float32: "F32", torch.bfloat16: "BF16", torch.float16: "F16", torch.int64: "I64"}


class Tensors:
    """The tensors of some files, by name. Failures: corrupt."""

    def __init__(self, paths: list[Path]):
        self.files, self.open = {}, ExitStack()
        for path in paths:
            try:
                file = self.open.enter_context(safe_open(path, framework="pt"))
            except (SafetensorError, OSError) as e:
                raise Failure("corrupt", path.name, str(e)) from e
            self.files |= {name: (path, file) for name in file.keys()}

    def __enter__(self) -> "Tensors":
        return self

    def __exit__(self, *_) -> None:
        self.open.close()

    def __contains__(self, name: str) -> bool:
        return name in self.files

    def of(self, path: Path) -> list[str]:
        """The names of a file's tensors, sorted."""
        return sorted(name for name, (home, _) in self.files.items() if home == path)

    def raw(self, name: str) -> Tensor:
        return self.files[name][1].get_tensor(name)

    def dtype(self, name: str) -> str:
        return self.files[name][1].get_slice(name).get_dtype()

    def get(self, name: str, shape: torch.Size) -> Tensor:
        """One tensor, which must have this shape."""
        if name not in self.files:
            raise Failure("corrupt", "base checkpoint", f"no file has the tensor {name}")
        path, file = self.files[name]
        t = file.get_tensor(name)
        if t.shape != shape:
            raise Failure("corrupt", path.name, f"{name} has the shape {list(t.shape)}, not {list(shape)}")
        return t


def write_tensors(path: Path, tensors: Iterable[tuple[str, torch.dtype, torch.Size]], values: Iterable[Tensor]) -> None:
    """Writes values, in the order of tensors, whose names, types and shapes must be known beforehand."""
    header, end = {"__metadata__": {"format": "pt"}}, 0
    for name, dtype, shape in tensors:
        size = shape.numel() * dtype.itemsize
        header[name] = {"dtype": NAMES[dtype], "shape": list(shape), "data_offsets": [end, end + size]}
        end += size
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    with path.open("wb") as f:
        f.write(struct.pack("<Q", len(head)) + head)
        for value in values:
            f.write(memoryview(value.cpu().contiguous().reshape(-1).view(torch.uint8).numpy()))
        if f.tell() != 8 + len(head) + end:
            raise ValueError(f"{path.name}: {f.tell()} bytes were written, not {8 + len(head) + end}")
