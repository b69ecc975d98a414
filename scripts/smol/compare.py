"""Holds the exported model in transformers against what vLLM serves under a name: compare.py DIR URL NAME. vLLM goes on from recorded
prompts, by its most likely tokens; transformers computes the log-probabilities of the same tokens. The base model's are said beside
them: were they as near, the comparison would show nothing."""

import json
import sys
import urllib.request
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

TOKENS = 24
CLOSE = 1e-3  # nats; both compute in float32


def served(url: str, name: str, prompt: list[int]) -> tuple[list[int], torch.Tensor]:
    """The most likely continuation of a prompt, and its log-probabilities, f32 [TOKENS] or fewer."""
    asked = dict(model=name, prompt=prompt, max_tokens=TOKENS, temperature=0, logprobs=1, return_token_ids=True)
    request = urllib.request.Request(url, json.dumps(asked).encode(), {"Content-Type": "application/json"})
    [choice] = json.load(urllib.request.urlopen(request, timeout=1800))["choices"]
    return choice["token_ids"], torch.tensor(choice["logprobs"]["token_logprobs"])


@torch.no_grad()
def computed(model: torch.nn.Module, prompt: list[int], tokens: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """The tokens' log-probabilities by the model, f32 [tokens], and the tokens that it finds most likely in their places."""
    logits = model(torch.tensor([prompt + tokens])).logits[0, len(prompt) - 1 : -1].float()
    return logits.log_softmax(-1).gather(-1, torch.tensor(tokens)[:, None])[:, 0], logits.argmax(-1)


def main(work: Path, url: str, name: str) -> None:
    logging.disable_progress_bar()
    tokenizer = AutoTokenizer.from_pretrained(work / "export")
    export, base = (AutoModelForCausalLM.from_pretrained(work / d, dtype=torch.float32) for d in ("export", "model"))
    worst = base_worst = 0.0
    count = same = 0
    for prompt in json.loads((work / "prompts.json").read_text()):
        tokens, log_probs = served(url, name, prompt)
        found, likely = computed(export, prompt, tokens)
        worst = max(worst, float((found - log_probs).abs().max()))
        base_worst = max(base_worst, float((computed(base, prompt, tokens)[0] - log_probs).abs().max()))
        count, same = count + len(tokens), same + int((likely == torch.tensor(tokens)).sum())
        print(f"  {len(prompt)} ids of prompt -> {tokenizer.decode(tokens)!r}")
    print(f"{same} of {count} greedy tokens of {name} are the export's; log-probabilities differ by {worst:.1e} at most, from the base model's by {base_worst:.1e}")
    if same < count or worst > CLOSE:
        sys.exit("FAILED: the export is not what vLLM serves")
    if base_worst < 10 * worst:
        sys.exit("FAILED: the base model would pass as well")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
