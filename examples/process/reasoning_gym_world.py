"""reasoning-gym (Apache-2.0) as a world of longhaul: a question, and one answer, scored by its own verifiers.

python3 reasoning_gym_world.py [--dataset NAME[,NAME...]]: tasks take the datasets in turn.
"""

import argparse

import reasoning_gym
from reasoning_gym.utils import SYSTEM_PROMPTS, extract_answer

from world import serve

TASKS = {"train": 100_000, "eval": 10_000}
FIRST = {"train": 0, "eval": 1_000_000_000}  # an item follows from seed + index: the splits' numbers lie apart

parser = argparse.ArgumentParser()
parser.add_argument("--dataset", default="leg_counting")
parser.add_argument("--prompt", default="default", choices=SYSTEM_PROMPTS)
args = parser.parse_args()
names = args.dataset.split(",")
datasets = {
    split: [reasoning_gym.create_dataset(name, size=n, seed=FIRST[split]) for name in names] for split, n in TASKS.items()
}


class Question:
    def __init__(self, task):
        all = datasets[task["split"]]
        self.dataset = all[task["index"] % len(all)]
        self.entry = self.dataset[task["index"] // len(all)]
        self.observation = self.entry["question"]
        self.answer = None

    def step(self, name, text):
        self.answer = extract_answer(text)
        return "", True

    def score(self):
        return float(self.dataset.score_answer(self.answer, self.entry)), {"answered": float(self.answer is not None)}


def reference(task):
    answer = Question(task).entry["answer"]
    if answer is None:
        raise ValueError("this dataset tells no answers")
    return [("final_text", f"<answer>{answer}</answer>")]


serve(
    {
        "name": "reasoning_gym", "version": f"{reasoning_gym.__version__} {args.dataset} {args.prompt}",
        "system": SYSTEM_PROMPTS[args.prompt], "text_ends": True, "tasks": TASKS,
    },
    Question, reference,
)
