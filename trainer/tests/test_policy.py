"""The policy: packed rows give what padded ones do, adapters, sharded files, and what is written is what was trained."""

import json
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

import torch
from longhaul_trainer.batch import read_batch, trained_tokens
from longhaul_trainer.checkpoint import read_optimizer, write_checkpoint
from longhaul_trainer.failure import Failure
from longhaul_trainer.loss import Loss
from longhaul_trainer.policy import Policy, Settings
from longhaul_trainer.train import Optimiser, Trainer, adamw, penalise, score
from safetensors.torch import load_file, save_file
from stored import VOCABULARY, batch_file, model_files
from transformers import AutoModelForCausalLM, Qwen3NextConfig, Qwen3NextForCausalLM

CPU = torch.device("cpu")
LORA = Settings(lora_rank=4, lora_alpha=8)
ONE = Optimiser(learning_rate=1e-2, minibatches=1, weight_decay=0)


def quiet(*_) -> None:
    pass


class Policies(unittest.TestCase):
    def setUp(self):
        torch.set_num_threads(1)
        self.tmp = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.base = model_files(self.tmp / "base")
        self.rows = read_batch(batch_file(self.tmp / "batch.safetensors"))

    def policy(self, settings: Settings = Settings(), base: Path | None = None, seed: int = 1) -> Policy:
        return Policy(base or self.base, settings, seed, CPU)

    def train(self, policy: Policy, loss: Loss = Loss(), o: Optimiser = ONE, seed: int = 3) -> dict[str, float]:
        optimizer = adamw(policy, o)
        read_optimizer(policy, optimizer)
        self.optimizer = optimizer
        return Trainer(policy, optimizer, loss, o, 1.0).update(self.rows, seed, "update 1", quiet)

    def saved(self, policy: Policy, name: str) -> Path:
        """A directory with what a next update starts from."""
        out = self.tmp / name
        write_checkpoint(out, policy, self.optimizer, "tiny", True)
        for path in policy.directory.iterdir():
            if not (out / path.name).exists():
                (out / path.name).write_bytes(path.read_bytes())
        return out

    def near(self, a: torch.Tensor, b: torch.Tensor, tolerance: float = 1e-5):
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)

    def test_packed_rows_give_what_padded_ones_do(self):
        model = AutoModelForCausalLM.from_pretrained(self.base)
        tokens = torch.nn.utils.rnn.pad_sequence([row.tokens for row in self.rows], batch_first=True)
        with torch.no_grad():
            logs = (model(input_ids=tokens).logits / 0.9).log_softmax(-1)
        for row_tokens in (0, 30, 70, 1000):
            found = score(self.policy(), self.rows, 0.9, row_tokens, quiet)
            for i, row in enumerate(self.rows):
                self.near(found[i], logs[i, row.at - 1, row.tokens[row.at]])

    def test_packed_gradients_are_those_of_single_rows(self):
        for loss in (Loss(), Loss(use="gspo", reduction="sequence_mean"), Loss(reduction="constant", length=30), Loss(entropy_coef=0.1)):
            plain, packed = self.policy(), self.policy()
            o = replace(ONE, learning_rate=1e-3)
            a, b = self.train(plain, loss, o), self.train(packed, loss, replace(o, row_tokens=70))
            self.assertEqual(a.keys(), b.keys())
            for name in a:
                self.assertAlmostEqual(a[name], b[name], delta=1e-5 * max(1, abs(a[name])), msg=name)
            for one, other in zip(plain.trained().values(), packed.trained().values()):
                self.near(one, other, 1e-5)

    def test_shared_beginnings_give_what_whole_rows_do(self):
        """A group with one prompt, in which members sampled the same for a while, twice the same, and one the beginning of another."""
        g = torch.Generator().manual_seed(5)
        prompt, said, more = (torch.randint(VOCABULARY, (n,), generator=g) for n in (11, 6, 9))
        rows = []
        for i, parts in enumerate(([prompt, said], [prompt, said, more], [prompt, more], [prompt, said, more], [said, more], [prompt, said[:3], more])):
            tokens = torch.cat(parts)
            at = torch.arange(len(parts[0]), len(tokens))
            rows.append(replace(self.rows[0], tokens=tokens, at=at, advantages=torch.randn(len(at), generator=g), sampler=-4 + 0.3 * torch.randn(len(at), generator=g)))
        alone = score(self.policy(), rows, 0.9, 0, quiet)
        for row_tokens in (20, 40, 1000):
            for one, other in zip(score(self.policy(), rows, 0.9, row_tokens, quiet), alone, strict=True):
                self.near(one, other)
        self.rows = rows
        for settings in (Settings(), LORA, Settings(gradient_checkpointing="on")):
            plain, shared = self.policy(settings), self.policy(settings)
            a, b = self.train(plain, o=replace(ONE, learning_rate=1e-3)), self.train(shared, o=replace(ONE, learning_rate=1e-3, row_tokens=1000))
            for name in a:
                self.assertAlmostEqual(a[name], b[name], delta=1e-5 * max(1, abs(a[name])), msg=name)
            for one, other in zip(plain.trained().values(), shared.trained().values(), strict=True):
                self.near(one, other)

    def test_a_window_of_attention_is_not_shared(self):
        self.assertTrue(self.policy().shares)
        policy = self.policy()
        policy.config.layer_types = ["full_attention", "sliding_attention"]
        self.assertFalse(policy.shares)

    def test_a_mask_is_made_once_a_pass(self):
        """Attention keeps its mask for the gradient: one of all layers, not one of each."""
        prompt = torch.arange(40) % VOCABULARY
        rows = [replace(self.rows[0], tokens=torch.cat([prompt, torch.full((8,), i)]), at=torch.arange(40, 48)) for i in (50, 51)]
        for settings in (Settings(), Settings(precision="bfloat16")):
            policy = self.policy(settings)
            (part,) = policy.passes([[row] for row in rows], 1000)
            kept = {}
            with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.setdefault(t.data_ptr(), t), lambda t: t):
                policy.log_probs(part, 1.0)
            self.assertEqual(len([t for t in kept.values() if t.shape[-2:] == (56, 56) and not t.requires_grad]), 1)

    def test_state_does_not_run_from_row_to_row(self):
        """A model of which some layers have a state in place of attention: each row goes by itself."""
        torch.manual_seed(0)
        base = self.tmp / "hybrid"
        Qwen3NextForCausalLM(Qwen3NextConfig(
            vocab_size=VOCABULARY, hidden_size=32, intermediate_size=48, num_hidden_layers=2, layer_types=["linear_attention", "full_attention"],
            num_attention_heads=4, num_key_value_heads=2, head_dim=8, linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=8,
            linear_value_head_dim=8, num_experts=0, max_position_embeddings=64,
        )).save_pretrained(base)
        policy = self.policy(base=base)
        self.assertFalse(policy.shares)
        alone = [score(policy, [row], 0.9, 0, quiet)[0] for row in self.rows]
        for one, other in zip(score(policy, self.rows, 0.9, 1000, quiet), alone, strict=True):
            self.near(one, other)
        with self.assertRaisesRegex(Failure, "loss.use: a pair goes through the model in one pass, and the state of qwen3_next"):
            policy.passes([self.rows[:2]], 1000)

    def test_checkpointed_gradients_are_the_same(self):
        plain, again = self.policy(), self.policy(Settings(gradient_checkpointing="on"))
        self.train(plain), self.train(again)
        for one, other in zip(plain.trained().values(), again.trained().values()):
            self.assertTrue(torch.equal(one, other))

    def test_loss_falls_on_a_fixed_batch(self):
        """Imitation of what was sampled, which any policy loss is at its first step with equal advantages: the rows get likelier."""
        for settings in (Settings(), LORA, Settings(precision="bfloat16"), replace(LORA, precision="bfloat16")):
            with self.subTest(settings):
                policy = self.policy(settings)
                rows = [replace(row, advantages=torch.ones(len(row.at))) for row in self.rows]
                trainer = Trainer(policy, adamw(policy, ONE), Loss(use="cispo", clip_low=1.0, clip_high=0.0), ONE, 1.0)
                losses = []
                for _ in range(12):
                    s = trainer.step([[row] for row in rows])
                    losses.append(sum(-float(v.sum()) for v in score(policy, rows, 1.0, 0, quiet)) / s.tokens)
                self.assertLess(losses[-1], losses[0] - (0.15 if settings.lora_rank else 0.3))
                self.assertLess(losses[-1], losses[5])

    def test_a_new_adapter_changes_nothing_and_is_what_is_trained(self):
        policy, base = self.policy(LORA), self.policy()
        before = score(base, self.rows, 1.0, 0, quiet)
        for one, other in zip(score(policy, self.rows, 1.0, 0, quiet), before):
            self.assertTrue(torch.equal(one, other))
        self.train(policy)
        names = list(policy.trained())
        self.assertEqual(len(names), 2 * 7 * 2)
        self.assertIn("base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight", names)
        self.assertFalse(torch.equal(score(policy, self.rows, 1.0, 0, quiet)[0], before[0]))
        with policy.base():
            self.assertTrue(torch.equal(score(policy, self.rows, 1.0, 0, quiet)[0], before[0]))

    def test_an_adapter_is_read_by_peft(self):
        from peft import PeftModel

        policy = self.policy(LORA)
        self.train(policy)
        theirs = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(self.base), self.saved(policy, "out"))
        row = self.rows[0]
        with torch.no_grad():
            logs = theirs(input_ids=row.tokens[None]).logits[0].log_softmax(-1)
        self.near(score(policy, [row], 1.0, 0, quiet)[0], logs[row.at - 1, row.tokens[row.at]])

    def test_a_reference_is_what_its_files_say(self):
        policy = self.policy(LORA)
        self.train(policy)
        found = self.policy(Settings(lora_rank=None), self.saved(policy, "out"))
        self.assertTrue(torch.equal(score(found, self.rows, 1.0, 0, quiet)[0], score(policy, self.rows, 1.0, 0, quiet)[0]))
        self.assertIsNone(self.policy(Settings(lora_rank=None)).adapter)

    def test_two_updates_are_one_that_was_interrupted_between_them(self):
        """The moments and the step of the optimiser are the checkpoint's, whatever the files: whole, adapter, shards, bfloat16."""
        for name, settings, base in (
            ("whole", Settings(), self.base),
            ("adapter", LORA, self.base),
            ("shards", Settings(), model_files(self.tmp / "shards", shard="20KB")),
            ("bfloat16", Settings(), model_files(self.tmp / "half", dtype=torch.bfloat16)),
            ("untied", Settings(), model_files(self.tmp / "untied", tie_word_embeddings=False)),
        ):
            with self.subTest(name):
                policy = self.policy(settings, base)
                optimizer = adamw(policy, ONE)
                trainer = Trainer(policy, optimizer, Loss(), ONE, 1.0)
                trainer.update(self.rows, 3, "update 1", quiet)
                self.optimizer = optimizer
                between = self.saved(policy, f"{name} between")
                trainer.update(self.rows, 4, "update 2", quiet)
                resumed = self.policy(settings, between, seed=9)
                self.train(resumed, seed=4)
                for one, other in zip(policy.trained().values(), resumed.trained().values(), strict=True):
                    self.assertTrue(torch.equal(one, other))
                self.assertEqual({int(s["step"]) for s in self.optimizer.state.values()}, {2})

    def test_files_keep_their_names_and_types(self):
        base = model_files(self.tmp / "shards", shard="20KB", dtype=torch.bfloat16)
        policy = self.policy(base=base)
        self.train(policy)
        out = self.tmp / "out"
        write_checkpoint(out, policy, self.optimizer, "", True)
        shards = sorted(path.name for path in base.glob("*.safetensors"))
        self.assertGreater(len(shards), 1)
        self.assertEqual(sorted(path.name for path in out.iterdir()), sorted([*shards, "optimizer.safetensors"]))
        state = load_file(out / "optimizer.safetensors")
        for name in shards:
            was, now = load_file(base / name), load_file(out / name)
            self.assertEqual({n: (t.dtype, t.shape) for n, t in was.items()}, {n: (t.dtype, t.shape) for n, t in now.items()})
            for n, t in now.items():
                self.assertFalse(torch.equal(was[n], t), n)
                self.assertTrue(torch.equal(state["master." + n].bfloat16(), t), n)
        AutoModelForCausalLM.from_pretrained(self.saved(policy, "loads"))

    def test_the_same_update_gives_the_same_bytes(self):
        def files(name: str) -> dict:
            policy = self.policy(LORA)
            self.train(policy)
            return {path.name: path.read_bytes() for path in self.saved(policy, name).iterdir()}

        self.assertEqual(files("one"), files("other"))

    def test_another_seed_is_another_adapter(self):
        one, other = self.policy(LORA, seed=1).trained(), self.policy(LORA, seed=2).trained()
        a = [name for name in one if ".lora_A." in name]
        self.assertTrue(all(not torch.equal(one[name], other[name]) for name in a) and len(a) == 14)

    def test_a_gradient_that_is_not_finite_changes_nothing(self):
        policy = self.policy()
        before = [p.detach().clone() for p in policy.trained().values()]
        rows = [replace(row, advantages=row.advantages * 1e38) for row in self.rows]
        optimizer = adamw(policy, ONE)
        with self.assertRaisesRegex(Failure, "update 7, minibatch 0: the gradient is not finite"):
            Trainer(policy, optimizer, Loss(), ONE, 1.0).update(rows, 3, "update 7", quiet)
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(before, policy.trained().values())))

    def test_log_probabilities_of_another_policy_are_told(self):
        rows = [replace(row, sampler=row.sampler - 200) for row in self.rows]
        policy = self.policy()
        with self.assertRaisesRegex(Failure, "update 7, minibatch 0: kl is inf: the log-probabilities that were recorded"):
            Trainer(policy, adamw(policy, ONE), Loss(use="cispo"), ONE, 1.0).update(rows, 3, "update 7", quiet)

    def test_penalised_advantages_are_centred_over_the_update(self):
        for row in self.rows:
            row.reference = row.sampler + torch.linspace(-1, 1, len(row.at)) if len(row.at) else row.sampler
        before = torch.cat([row.advantages for row in self.rows])
        penalise(self.rows, Loss(kl="k1", kl_coef=0.5, kl_in="reward"))
        after = torch.cat([row.advantages for row in self.rows])
        self.near(after.mean(), before.mean())
        self.assertGreater(float((after - before).abs().max()), 0.4)

    def test_what_is_no_base(self):
        def without(tensors: dict) -> dict:
            del tensors["model.norm.weight"]
            return tensors

        def reshaped(tensors: dict) -> dict:
            return tensors | {"model.norm.weight": torch.zeros(3)}

        def edited(path: Path, change) -> None:
            save_file(change(load_file(path)), path)

        def adapter(directory: Path) -> None:
            (directory / "adapter_config.json").write_text('{"r": 8, "lora_alpha": 8}')

        for name, kind, settings, damage in (
            ("no config", "invalid", Settings(), lambda d: (d / "config.json").unlink()),
            ("a config that is no JSON", "invalid", Settings(), lambda d: (d / "config.json").write_text("{")),
            ("a model that is not known", "invalid", Settings(), lambda d: (d / "config.json").write_text('{"model_type": "abacus"}')),
            ("a file cut off", "corrupt", Settings(), lambda d: (d / "model.safetensors").write_bytes(b"12345678")),
            ("a weight missing", "corrupt", Settings(), lambda d: edited(d / "model.safetensors", without)),
            ("a weight of another shape", "corrupt", Settings(), lambda d: edited(d / "model.safetensors", reshaped)),
            ("an adapter of another rank", "invalid", LORA, adapter),
            ("an adapter, and whole training asked for", "invalid", Settings(), adapter),
            ("an adapter that is no JSON", "corrupt", LORA, lambda d: (d / "adapter_config.json").write_text("x")),
            ("an index of nothing", "corrupt", Settings(), lambda d: (d / "model.safetensors.index.json").write_text("[]")),
        ):
            with self.subTest(name):
                directory = model_files(self.tmp / name)
                damage(directory)
                with self.assertRaises(Failure) as raised:
                    self.policy(settings, directory)
                self.assertEqual(raised.exception.kind, kind, raised.exception)

    def test_foreign_adapters(self):
        """An adapter of a kind that is not trained here is refused; one that says peft's defaults is not."""
        policy = self.policy(LORA)
        self.train(policy)
        directory = self.saved(policy, "adapted")
        config = directory / "adapter_config.json"
        ours = json.loads(config.read_text())
        for said, words in (
            ({"use_rslora": True}, "use_rslora True"),
            ({"use_dora": True}, "use_dora True"),
            ({"modules_to_save": ["lm_head"]}, "modules_to_save"),
            ({"bias": "lora_only"}, "bias lora_only"),
            ({"peft_type": "IA3"}, "peft_type IA3"),
            ({"rank_pattern": {"q_proj": 8}}, "rank_pattern"),
            ({"init_lora_weights": "pissa_niter_16"}, "init_lora_weights pissa_niter_16"),
            ({"target_modules": ["q_proj"]}, "target_modules"),
            ({"invented_later": 3}, "invented_later 3"),
        ):
            config.write_text(json.dumps(ours | said))
            for rank in (LORA.lora_rank, None):
                with self.subTest(words, rank=rank), self.assertRaisesRegex(Failure, f"an adapter with {words}.* is not trained here") as raised:
                    self.policy(replace(LORA, lora_rank=rank), directory)
                self.assertEqual(raised.exception.exit, 42)
        usual = {"use_dora": False, "bias": "none", "rank_pattern": {}, "megatron_core": "megatron.core", "qalora_group_size": 16, "modules_to_save": None}
        targets = [f"model.layers.0.{name}" for name in ours["target_modules"]]
        config.write_text(json.dumps(ours | usual | {"target_modules": targets, "peft_version": "0.9", "init_lora_weights": "gaussian"}))
        self.assertEqual(self.policy(LORA, directory).adapter.targets, ours["target_modules"])

    def test_moments_of_another_model(self):
        directory = model_files(self.tmp / "moments")
        save_file({"step": torch.tensor(3)}, directory / "optimizer.safetensors")
        policy = self.policy(base=directory)
        with self.assertRaisesRegex(Failure, "no file has the tensor exp_avg"):
            read_optimizer(policy, adamw(policy, ONE))

    def test_vocabulary_and_tokens(self):
        self.assertEqual((self.policy().vocabulary, self.policy().context), (VOCABULARY, 64))
        self.assertGreater(trained_tokens(self.rows), 50)


if __name__ == "__main__":
    unittest.main()
