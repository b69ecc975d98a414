"""peft_merge.py make|compare DIR: random Llamas with random LoRA adapters in three types, and peft's own merge of each."""

import sys
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file
from transformers import LlamaConfig, LlamaForCausalLM


def make(root: Path, dtype: torch.dtype) -> None:
    config = LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1)
    model = LlamaForCausalLM(config).to(dtype)
    model.save_pretrained(root / "base")
    tuned = get_peft_model(model, LoraConfig(r=4, lora_alpha=6, target_modules="all-linear"), autocast_adapter_dtype=False)
    for name, p in tuned.named_parameters():
        if "lora_" in name:
            torch.nn.init.normal_(p, std=0.3)
    tuned.save_pretrained(root / "ours")
    (root / "ours" / "model.safetensors").write_bytes((root / "base" / "model.safetensors").read_bytes())
    tuned.merge_and_unload().save_pretrained(root / "peft")


def compare(root: Path, dtype: torch.dtype) -> None:
    base, ours, peft = (load_file(root / d / "model.safetensors") for d in ("base", "ours", "peft"))
    assert ours.keys() == peft.keys(), ours.keys() ^ peft.keys()
    for name, w in peft.items():
        assert ours[name].dtype == w.dtype == dtype
        # peft rounds the product to the weights' type before it adds; here it is kept in float32
        far, size = (ours[name].float() - w.float()).abs().max().item(), w.float().abs().max().item()
        assert far <= 4 * torch.finfo(dtype).eps * max(1, size), (name, far)
        assert ours[name].equal(base[name]) != ("_proj" in name), name


torch.manual_seed(1)
for name in ("float32", "bfloat16", "float16"):
    globals()[sys.argv[1]](Path(sys.argv[2]) / name, getattr(torch, name))
