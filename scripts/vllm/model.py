"""Makes a Hugging Face directory of a tiny Llama with random weights, a byte-level tokenizer and a chat template: what
scripts/vllm.sh trains, without anything downloaded."""

import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] or '' }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def tokenizer() -> PreTrainedTokenizerFast:
    t = Tokenizer(models.BPE())
    t.pre_tokenizer, t.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    special = ["<pad>", "<s>", "<|im_start|>", "<|im_end|>"]
    t.train_from_iterator(
        ["where is order"], trainers.BpeTrainer(vocab_size=272, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    )
    fast = PreTrainedTokenizerFast(tokenizer_object=t, bos_token="<s>", eos_token="<|im_end|>", pad_token="<pad>")
    fast.chat_template = TEMPLATE
    return fast


def main(out: str) -> None:
    t = tokenizer()
    t.save_pretrained(out)
    torch.manual_seed(0)
    shape = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, head_dim=32)
    ids = dict(bos_token_id=t.bos_token_id, eos_token_id=t.eos_token_id, pad_token_id=t.pad_token_id)
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(t), max_position_embeddings=2048, tie_word_embeddings=False, **shape, **ids))
    model.save_pretrained(out)


if __name__ == "__main__":
    main(sys.argv[1])
