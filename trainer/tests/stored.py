"""A run in a store, for tests: a tiny random policy as its version 0, a batch, and the spec of its first update."""

import itertools
import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import torch
import transformers
from longhaul_trainer.spec import CHECKPOINT, SPEC
from longhaul_trainer.store import Store, sha256
from moto.server import ThreadedMotoServer
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM

transformers.utils.logging.disable_progress_bar()
TRAINER = Path(__file__).parents[1]
LOSS = {
    "use": "ppo", "clip_low": 0.2, "clip_high": 0.28, "ratio_cap": 0, "tau_positive": 1, "tau_negative": 1.05, "reduction": "token_mean",
    "length": 0, "mismatch_cap": 0, "off_policy_mask": 0, "kl_coef": 0, "kl": "k3", "kl_in": "loss", "entropy_coef": 0,
}
UPDATE = {
    "use": "local", "learning_rate": 1e-3, "minibatches": 2, "max_grad_norm": 1, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.01,
    "ramp": 0, "final_rate": 1, "kl_stop": 0,
}
VOCABULARY = 60


def config(loss: dict | None = None, **update) -> dict:
    """The parts of a run's configuration that a job reads."""
    return {
        "name": "a", "env": {"max_turns": 4}, "sampling": {"temperature": 0.9, "max_tokens": 8}, "policy": {"use": "openai", "model": "tiny"},
        "loss": LOSS | (loss or {}), "update": UPDATE | update,
    }


def model_files(directory: Path, seed: int = 0, dtype: torch.dtype = torch.float32, shard: str = "1GB", **shape) -> Path:
    """A random Llama, made without a hub."""
    torch.manual_seed(seed)
    c = LlamaConfig(**{
        "vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "max_position_embeddings": 64, "tie_word_embeddings": True,
    } | shape)
    LlamaForCausalLM(c).to(dtype).save_pretrained(directory, max_shard_size=shard)
    (directory / "tokenizer.json").write_text("{}")
    return directory


def batch_file(path: Path, seed: int = 0, rows: int = 8, group: int = 2) -> Path:
    """Rows of different lengths, one of them without a trained token, in groups of a task."""
    g = torch.Generator().manual_seed(seed)
    tok, mask, adv, logp, starts, episodes = [], [], [], [], [0], []
    for i in range(rows):
        n = 9 + 5 * (i % 5)
        trained = torch.arange(n) % 4 != 0 if i != 5 else torch.zeros(n, dtype=torch.bool)
        tok.append(torch.randint(VOCABULARY, (n,), generator=g, dtype=torch.int32))
        mask.append(trained)
        adv.append(torch.where(trained, torch.randn((), generator=g), 0.0))
        logp.append(torch.where(trained, -4 + 0.3 * torch.randn(n, generator=g), torch.nan))
        starts.append(starts[-1] + n)
        episodes.append({"run": "a", "update": 1, "task": f"train-{i // group}" if i != 5 else "another", "member": i % group})
    tensors = {"tok": torch.cat(tok), "mask": torch.cat(mask), "adv": torch.cat(adv), "logp": torch.cat(logp), "cu_seqlens": torch.tensor(starts)}
    save_file(tensors, path, metadata={"schema": "longhaul/batch/1", "episodes": json.dumps(episodes), "versions": '["a@000000"]'})
    return path


server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
logging.getLogger("werkzeug").setLevel(logging.ERROR)
server.start()
buckets = itertools.count()


class Stored:
    """A bucket of a real S3 server, with a run in it."""

    def __init__(self):
        host, port = server.get_host_and_port()
        os.environ |= {
            "AWS_ENDPOINT_URL_S3": f"http://{host}:{port}", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1",
        }
        self.store = Store(f"bucket-{next(buckets)}", "some/where/")
        self.store.s3.create_bucket(Bucket=self.store.bucket)

    def ref(self, key: str, body: bytes) -> dict:
        self.store.put(key, body)
        return {"key": key, "sha256": sha256(body), "size": len(body)}

    def checkpoint(self, n: int, files: list[dict], formats: dict | None = None) -> dict:
        manifest = {"schema": CHECKPOINT, "run": "a", "update": n, "version": f"a@{n:06d}", "files": files, "formats": formats or {}, "tokenizer": "t"}
        return self.ref(f"runs/a/ckpt/{n:08d}.json", json.dumps(manifest).encode())

    def spec(self, config: dict, base: dict, batch: Path, update: int = 1, seed: int = 5) -> str:
        """Stores a spec and what it names; returns its key."""
        from longhaul_trainer.batch import read_batch, trained_tokens

        rows = read_batch(batch)
        spec = {
            "schema": SPEC, "run": "a", "update": update, "config": self.ref(f"runs/a/configs/{sha256(json.dumps(config).encode())}", json.dumps(config).encode()), "base_checkpoint": base,
            "batch": self.ref(f"runs/a/{sha256(batch.read_bytes())}/batch.safetensors", batch.read_bytes()), "n_seq": len(rows),
            "n_tokens": sum(len(row.tokens) for row in rows), "n_trained_tokens": trained_tokens(rows), "policy_versions": ["a@000000"],
            "learning_rate": config["update"]["learning_rate"], "seed": seed,
        }
        return self.put_spec(json.dumps(spec).encode())

    def put_spec(self, body: bytes) -> str:
        key = sha256(body)
        self.store.put(f"jobs/{key}/spec.json", body)
        return key

    def json(self, key: str, name: str) -> dict:
        return json.loads(self.store.get(f"jobs/{key}/{name}.json").body)

    def start(self, key: str, owner: str = "me", **environment: str) -> subprocess.Popen:
        uri = f"s3://{self.store.bucket}/some/where/jobs/{key}/spec.json"
        env = os.environ | {"PYTHONPATH": str(TRAINER), "LONGHAUL_SPEC_URI": uri, "LONGHAUL_OWNER": owner, "OMP_NUM_THREADS": "1"} | environment
        return subprocess.Popen([sys.executable, "-m", "longhaul_trainer"], env=env, stderr=subprocess.PIPE, text=True)

    def run(self, key: str, **environment: str) -> tuple[int, str]:
        """A job's exit code and what it said."""
        with self.start(key, **environment) as job:
            said = job.stderr.read()
        return job.returncode, said
