"""Holds loss.py to testdata/losses.json, as tiny/nn/vectors_test.go holds the embedded trainer: python -m unittest."""

import json
import math
import unittest
from pathlib import Path

import torch
from longhaul_trainer import loss

VECTORS = json.loads((Path(__file__).parents[1] / "testdata" / "losses.json").read_text())


def table(rows) -> torch.Tensor:
    """null is not a number."""
    return torch.tensor([[math.nan if v is None else v for v in row] for row in rows], dtype=torch.float64)


def columns(case) -> dict[str, torch.Tensor]:
    merged = VECTORS["batches"][case["batch"]] | case.get("rows", {})
    named = {name: table(rows) for name, rows in merged.items()}
    return named | {"mask": named["mask"] > 0}


class Losses(unittest.TestCase):
    def near(self, got: torch.Tensor, want, tolerance: float):
        want = torch.as_tensor(want, dtype=torch.float64)
        self.assertTrue(torch.allclose(got.detach().double(), want, rtol=tolerance, atol=tolerance), f"{got} is not {want}")

    def test_cases(self):
        self.assertGreaterEqual(len(VECTORS["cases"]), 25)
        for case in VECTORS["cases"]:
            with self.subTest(case["name"]):
                rows = loss.Rows(**columns(case))
                rows.new.requires_grad_()
                value, stats = loss.batch_loss(loss.Loss(**case["loss"]), rows)
                value.backward()
                self.near(value, case["value"], 5e-9)
                self.near(rows.new.grad, case["gradients"], 1e-8)
                self.near(torch.tensor(stats.loss, dtype=torch.float64), value.item() * stats.tokens, 1e-9)

    def test_estimates(self):
        for case in VECTORS["estimates"]:
            log_p = torch.zeros((), dtype=torch.float64, requires_grad=True)
            value = loss.estimate(case["estimator"], case["x"] - log_p)
            value.backward()
            self.near(value, case["value"], 1e-9)
            self.near(log_p.grad, case["slope"], 1e-9)

    def test_mismatch_weights(self):
        for case in VECTORS["mismatch_weights"]:
            old, sampler, now, want = (table([case[name]]) for name in ("old", "sampler", "now", "weights"))
            self.near(loss.mismatch_weights(old, sampler, now, case["cap"]), want, 1e-9)

    def test_penalised_advantages(self):
        for case in VECTORS["penalised_advantages"]:
            c = columns(case)
            got = loss.penalised_advantages(case["estimator"], case["coef"], c["advantages"], c["old"], c["reference"], c["mask"])
            self.near(got, case["advantages"], 1e-8)

    def test_dpo(self):
        for case in VECTORS["dpo"]:
            chosen, rejected = (torch.tensor([case[name]], dtype=torch.float64, requires_grad=True) for name in ("chosen", "rejected"))
            references = (torch.tensor([case[name]], dtype=torch.float64) for name in ("reference_chosen", "reference_rejected"))
            value = loss.dpo(case["beta"], chosen, rejected, *references).mean()
            value.backward()
            self.near(value, case["value"], 1e-9)
            self.near(torch.cat([chosen.grad, rejected.grad]), case["gradients"], 1e-9)

    def test_entropy_bonus(self):
        rows = loss.Rows(**columns({"batch": "one"}))
        rows.entropy = torch.full_like(rows.new, 2).requires_grad_()
        plain, _ = loss.batch_loss(loss.Loss(), rows)
        value, stats = loss.batch_loss(loss.Loss(entropy_coef=0.5), rows)
        value.backward()
        self.near(value - plain, -1, 1e-12)
        self.near(rows.entropy.grad, rows.mask.double() * -0.5 / 7, 1e-12)
        self.assertEqual(stats.entropy, 2 * 7)

    def test_cross_entropy_is_a_token_mean(self):
        mask = torch.tensor([[1, 1, 0], [1, 1, 1], [1, 0, 0]]) > 0
        new = -torch.tensor([[1.0, 2, math.nan], [3, 4, 5], [7, math.nan, math.nan]])
        self.near(loss.cross_entropy(new, mask), 22 / 6, 1e-7)

    def test_token_mean_however_the_rows_are_split(self):
        values = torch.tensor([[1.0, 2, 0], [3, 4, 5], [7, 0, 0]], dtype=torch.float64)
        mask = torch.tensor([[1, 1, 0], [1, 1, 1], [1, 0, 0]]) > 0
        self.near(loss.reduce(loss.Loss(reduction="token_mean"), values, mask, loss.Size.of(mask)), 22 / 6, 1e-12)
        share = loss.Loss(reduction="global_token_mean", tokens=6)
        for split in (1, 2):
            parts = (loss.reduce(share, values[part], mask[part], loss.Size.of(mask)) for part in (slice(split), slice(split, None)))
            self.near(sum(parts), 22 / 6, 1e-12)

    def test_what_is_masked_is_not_looked_at(self):
        case = next(c for c in VECTORS["cases"] if c["batch"] == "far")
        for low, high in ((-math.inf, math.inf), (math.inf, -math.inf), (math.nan, math.nan)):
            c = columns(case)
            for name, masked in (("new", low), ("old", high), ("advantages", low)):
                c[name] = torch.where(c["mask"], c[name], masked)
            rows = loss.Rows(**c)
            rows.new.requires_grad_()
            value, _ = loss.batch_loss(loss.Loss(**case["loss"]), rows)
            value.backward()
            self.near(value, case["value"], 5e-9)
            self.near(rows.new.grad, case["gradients"], 1e-8)

    def test_unknown_names(self):
        rows = loss.Rows(**columns({"batch": "one"}))
        for wrong in ({"use": "grpo"}, {"reduction": "mean"}, {"kl": "k4", "kl_coef": 0.1}):
            with self.subTest(wrong), self.assertRaises(ValueError):
                loss.batch_loss(loss.Loss(**wrong), rows)


if __name__ == "__main__":
    unittest.main()
