"""peft_merge.py make|compare DIR DTYPE: a random Llama with a random LoRA adapter, and peft's own merge of the two."""

import sys
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file
from transformers import LlamaConfig, LlamaForCausalLM

step, root, dtype = sys.argv[1], Path(sys.argv[2]), getattr(torch, sys.argv[3])
if step == "make":
    torch.manual_seed(1)
    config = LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1)
    model = LlamaForCausalLM(config).to(dtype)
    model.save_pretrained(root / "ours")
    tuned = get_peft_model(model, LoraConfig(r=4, lora_alpha=6, target_modules="all-linear"), autocast_adapter_dtype=False)
    for name, p in tuned.named_parameters():
        if "lora_" in name:
            torch.nn.init.normal_(p, std=0.3)
    tuned.save_pretrained(root / "ours")
    tuned.merge_and_unload().save_pretrained(root / "peft")
else:
    ours, peft = (load_file(root / d / "model.safetensors") for d in ("ours", "peft"))
    assert ours.keys() == peft.keys(), ours.keys() ^ peft.keys()
    for name, w in peft.items():
        assert ours[name].dtype == w.dtype == dtype
        # peft rounds the product to the weights' type before it adds; here it is kept in float32
        far = (ours[name].float() - w.float()).abs().max().item()
        eps = torch.finfo(dtype).eps
        assert far <= 4 * eps * max(1, w.float().abs().max().item()), (name, far)
    changed = load_file(root / "ours" / "model.safetensors")["model.layers.0.self_attn.q_proj.weight"]
    assert changed.isfinite().all()
