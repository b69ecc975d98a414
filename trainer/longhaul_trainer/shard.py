"""Weights sharded over the processes of a machine: FSDP2, Y. Zhao and others, PyTorch FSDP, 2023, arXiv:2304.11277. Imported only
where there are several, since it takes seconds."""

import torch
from torch import Tensor, distributed, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import distribute_tensor


class Shards:
    """The processes, and what each has of a weight."""

    def __init__(self, device: torch.device):
        distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
        self.mesh: DeviceMesh = init_device_mesh(device.type, (distributed.get_world_size(),))

    def shard(self, module: nn.Module, half: bool) -> None:
        """Leaves each process its part of the module's weights; half: they are gathered in bfloat16. Gradients are float32."""
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16 if half else None, reduce_dtype=torch.float32)
        # After each forward pass, of the outermost module too, which would else stay whole after one without a backward pass
        # and lose gradients of the next.
        fully_shard(module, mesh=self.mesh, mp_policy=policy, reshard_after_forward=True)

    def like(self, t: Tensor, p: nn.Parameter) -> Tensor:
        """This process's part of t, cut as p is. All processes have t, so nothing is sent."""
        return distribute_tensor(t.to(p.device), p.device_mesh, p.placements, src_data_rank=None)
