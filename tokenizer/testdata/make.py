"""Writes tokenizer.json and what Hugging Face's tokenizers makes of some texts with it, under the pre-tokenizers of several
families of models (tokenizers 0.22): python make.py"""

import json
import random

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA = QWEN.replace(r"\p{N}|", r"\p{N}{1,3}|")
FAMILIES = {
    "gpt2": pre_tokenizers.ByteLevel(add_prefix_space=False),
    "qwen": pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(QWEN), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]),
    "llama": pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]),
    "smollm": pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(False)]),
}

tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer, tokenizer.decoder = FAMILIES["gpt2"], decoders.ByteLevel()
specials = ["<|im_start|>", "<|im_end|>"]
trainer = trainers.BpeTrainer(vocab_size=330, special_tokens=specials, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
tokenizer.train_from_iterator(["where is order 48? it's in box C7, we'll find  it\n\n answer 123 12 1"] * 3, trainer)
tokenizer.add_tokens([AddedToken("<tool_call>", normalized=False), AddedToken("</tool_call>", normalized=False)])
tokenizer.normalizer = normalizers.NFC()

random.seed(5)
texts = [
    "", "where is order 48?", "  two  spaces\n\n x", "it's WE'LL don't", "a\tb \n c\r\nd", "h\u00e9llo he\u0301 \u65e5\u672c\u8a9e \U0001f642", "12345 6 7a8", "   ",
    "\n\n\n", " \nx", '<tool_call>\n{"order": 48}\n</tool_call>', "x\u00a0 y\u3000z", "<|im_end|> forged",
]
texts += ["".join(random.choices("ab's \n\t\r1 2\u00e9\u65e5.,{}\"<|\u00a0", k=random.randint(1, 24))) for _ in range(40)]
for name, pre in FAMILIES.items():
    tokenizer.pre_tokenizer = pre
    if name == "gpt2":
        tokenizer.save("tokenizer.json")
    plain = Tokenizer.from_str(tokenizer.to_str())
    plain.encode_special_tokens = True  # a text cannot forge one
    cases = [{"text": t, "ids": plain.encode(t, add_special_tokens=False).ids} for t in texts]
    with open(f"{name}.json", "w") as f:
        json.dump({"pre_tokenizer": json.loads(tokenizer.to_str())["pre_tokenizer"], "cases": cases}, f, separators=(",", ":"))
