"""Batches, the order of their rows, and the passes that they are packed into."""

import math
import tempfile
import unittest
from pathlib import Path

import torch
from longhaul_trainer.batch import SCHEMA, Row, check_rows, read_batch
from longhaul_trainer.failure import Failure
from longhaul_trainer.packing import pack
from longhaul_trainer.pairs import pairs_of
from longhaul_trainer.shuffle import PCG, shuffle
from safetensors.torch import save_file


class Batches(unittest.TestCase):
    def save(self, schema: str = SCHEMA, starts: tuple = (0, 2, 5), episodes: str = '["x", "y"]', **columns) -> Path:
        path = Path(self.enterContext(tempfile.TemporaryDirectory())) / "batch.safetensors"
        tensors = {
            "tok": torch.arange(5, dtype=torch.int32), "mask": torch.tensor([False, True, False, True, True]), "adv": torch.tensor([0.0, 1, 0, 2, 2]),
            "logp": torch.tensor([math.nan, -1, math.nan, -2, -3]), "cu_seqlens": torch.tensor(starts),
        }
        save_file(tensors | columns, path, metadata={"schema": schema, "episodes": episodes, "versions": "[]"})
        return path

    def test_rows(self):
        one, two = read_batch(self.save())
        self.assertEqual((one.tokens.tolist(), one.at.tolist(), one.advantages.tolist(), one.sampler.tolist()), ([0, 1], [1], [1], [-1]))
        self.assertEqual((two.tokens.tolist(), two.at.tolist(), two.advantages.tolist(), two.sampler.tolist()), ([2, 3, 4], [1, 2], [2, 2], [-2, -3]))
        self.assertEqual((one.episode, two.episode), ("x", "y"))

    def test_what_is_no_batch(self):
        for name, kind, wrong in (
            ("a newer schema", "invalid", {"schema": "longhaul/batch/2"}),
            ("no schema", "corrupt", {"schema": ""}),
            ("rows short of tokens", "corrupt", {"starts": (0, 2, 4)}),
            ("rows backwards", "corrupt", {"starts": (0, 5, 2)}),
            ("rows without an episode", "corrupt", {"starts": (0, 1, 2, 5)}),
            ("episodes that are no list", "corrupt", {"episodes": "3"}),
            ("episodes that are no JSON", "corrupt", {"episodes": "["}),
            ("a column too many", "corrupt", {"more": torch.zeros(5)}),
            ("a column of another type", "corrupt", {"adv": torch.zeros(5, dtype=torch.float64)}),
            ("a negative token", "corrupt", {"tok": torch.tensor([0, 1, -2, 3, 4], dtype=torch.int32)}),
            ("a loss at the first token", "corrupt", {"mask": torch.tensor([True, True, False, True, True])}),
            ("no log-probability", "corrupt", {"logp": torch.full((5,), math.nan)}),
            ("no advantage", "corrupt", {"adv": torch.tensor([0.0, 1, 0, math.inf, 2])}),
        ):
            with self.subTest(name), self.assertRaises(Failure) as raised:
                read_batch(self.save(**wrong))
            self.assertEqual(raised.exception.kind, kind)

    def test_a_file_that_is_cut_off(self):
        path = self.save()
        path.write_bytes(path.read_bytes()[:-1])
        with self.assertRaises(Failure) as raised:
            read_batch(path)
        self.assertEqual(raised.exception.exit, 42)

    def test_rows_that_do_not_fit_a_model(self):
        rows = read_batch(self.save())
        check_rows(rows, vocabulary=5, context=3)
        for vocabulary, context in ((4, 3), (5, 2)):
            with self.subTest((vocabulary, context)), self.assertRaisesRegex(Failure, "batch row 1: "):
                check_rows(rows, vocabulary, context)


class Order(unittest.TestCase):
    def test_as_go_shuffles(self):
        """What rand.New(rand.NewPCG(seed, 1)).Shuffle gives in Go 1.26."""
        rng = PCG(1, 2)
        self.assertEqual([rng.uint64(), rng.uint64()], [14192431797130687760, 11371241257079532652])
        for n, seed, want in (
            (7, 5, [6, 4, 0, 1, 3, 2, 5]),
            (7, (1 << 63) + 12345, [5, 4, 3, 1, 6, 0, 2]),
            (12, 5, [2, 10, 4, 8, 0, 11, 3, 1, 6, 7, 5, 9]),
            (1, 5, [0]),
            (0, 5, []),
        ):
            items = list(range(n))
            shuffle(items, seed)
            self.assertEqual(items, want)


CPU = torch.device("cpu")


def row(n: int, trained: int = 1, advantage: float = 0.0, **episode) -> Row:
    at = torch.arange(n - trained, n)
    return Row(torch.arange(n), at, torch.full((trained,), advantage), torch.zeros(trained), {"run": "a", "update": 1, "task": "t", "member": 0} | episode)


class Packs(unittest.TestCase):
    def test_rows_lie_end_to_end(self):
        (part,) = pack([[row(3, 2)], [row(4, 1)]], 7, CPU, share=False)
        self.assertEqual(part.tokens.tolist(), [[0, 1, 2, 0, 1, 2, 3]])
        self.assertEqual(part.positions.tolist(), [[0, 1, 2, 0, 1, 2, 3]])
        self.assertEqual(part.before.tolist(), [0, 1, 5])
        self.assertEqual(part.chosen.tolist(), [1, 2, 3])
        self.assertEqual(part.by_row(torch.tensor([7.0, 8, 9])).tolist(), [[7, 8], [9, 0]])
        self.assertEqual(part.mask().tolist(), [[True, True], [True, False]])
        self.assertIsNone(part.sees(torch.float32))

    def test_what_rows_begin_with_is_laid_once(self):
        def of(tokens, *at):
            return Row(torch.tensor(tokens), torch.tensor(at), torch.zeros(len(at)), torch.zeros(len(at)), {})

        (part,) = pack([[of([1, 2, 5], 2)], [of([7, 8], 1)], [of([1, 2, 3, 4], 2, 3)], [of([1, 2, 3], 2)]], 9, CPU)
        self.assertEqual([row.tokens.tolist() for row in part.rows], [[1, 2, 3], [1, 2, 3, 4], [1, 2, 5], [7, 8]])
        self.assertEqual(part.tokens.tolist(), [[1, 2, 3, 4, 5, 7, 8]])
        self.assertEqual(part.positions.tolist(), [[0, 1, 2, 3, 2, 0, 1]])
        self.assertEqual(part.before.tolist(), [1, 1, 2, 1, 5])  # a token that two rows sampled is predicted at one place
        self.assertEqual(part.chosen.tolist(), [3, 3, 4, 5, 8])
        self.assertEqual(part.sees(torch.bfloat16)[0, 0].exp().int().tolist(), [
            [1, 0, 0, 0, 0, 0, 0],
            [1, 1, 0, 0, 0, 0, 0],
            [1, 1, 1, 0, 0, 0, 0],
            [1, 1, 1, 1, 0, 0, 0],
            [1, 1, 0, 0, 1, 0, 0],
            [0, 0, 0, 0, 0, 1, 0],
            [0, 0, 0, 0, 0, 1, 1],
        ])

    def test_nothing_by_the_square_of_a_pass_is_kept(self):
        group = [[Row(torch.cat([torch.zeros(400, dtype=torch.long), torch.full((4,), i)]), torch.arange(400, 404), torch.zeros(4), torch.zeros(4), {})] for i in range(100)]
        (part,) = pack(group, 1000, CPU)
        self.assertEqual(part.tokens.shape[1], 800)
        kept = [t.untyped_storage().nbytes() for t in vars(part).values() if isinstance(t, torch.Tensor)]
        self.assertLess(sum(kept) + 24 * len(part.runs), 800 * 40)

    def test_shared_tokens_count_once(self):
        def lengths(units, tokens):
            return [[len(r.tokens) for r in p.rows] for p in pack([[row(n) for n in unit] for unit in units], tokens, CPU)]

        self.assertEqual(lengths([[5], [3], [9], [6]], 6), [[3, 5, 6], [9]])
        self.assertEqual(lengths([[5], [3], [9], [6]], 9), [[3, 5, 6, 9]])
        self.assertEqual(lengths([[5, 4], [9, 2]], 0), [[5, 4], [9, 2]])

    def test_no_pack_is_too_long_and_no_unit_is_parted(self):
        def lengths(units, tokens):
            return [[len(r.tokens) for r in p.rows] for p in pack([[row(n, t) for n, t in unit] for unit in units], tokens, CPU, share=False)]

        one = [[(5, 1)], [(3, 1)], [(9, 1)], [(2, 1)], [(4, 0)], [(6, 2)]]
        self.assertEqual(lengths(one, 8), [[5, 3], [9], [2, 6]])
        self.assertEqual(lengths(one, 0), [[5], [3], [9], [2], [6]])
        self.assertEqual(lengths([[(3, 1), (3, 1)], [(2, 1), (1, 1)], [(1, 1), (1, 1)]], 8), [[3, 3], [2, 1, 1, 1]])
        self.assertEqual(lengths([[(4, 0)]], 8), [])


class Pairs(unittest.TestCase):
    def test_best_with_worst(self):
        rows = [row(2, advantage=a, member=i) for i, a in enumerate((0.5, 2, -1, 1, 0.5 + 1e-8))]
        pairs = pairs_of(rows + [row(2, advantage=3, task="alone")])
        self.assertEqual([(a.episode["member"], b.episode["member"]) for a, b in pairs], [(1, 2), (3, 4)])

    def test_members_of_several_rows_are_left_out(self):
        rows = [row(2, advantage=1, member=0), row(2, advantage=1, member=0), row(2, advantage=0, member=1), row(2, advantage=-1, member=2)]
        self.assertEqual([(a.episode["member"], b.episode["member"]) for a, b in pairs_of(rows)], [(1, 2)])

    def test_alike_makes_no_pair(self):
        self.assertEqual(pairs_of([row(2, advantage=3 + i * 1e-6, member=i) for i in range(3)]), [])

    def test_an_answer_without_a_loss(self):
        with self.assertRaisesRegex(Failure, "pair 0: an answer has no trained token"):
            pairs_of([row(2, advantage=1, member=0), row(2, 0, member=1)])


if __name__ == "__main__":
    unittest.main()
