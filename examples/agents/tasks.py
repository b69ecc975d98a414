"""Writes tasks.jsonl: 48 orders to train on and 16 that are held out, the same ones whenever it is run."""

import json
import random

draw = random.Random(7)
CITIES = ["Oslo", "Rome", "Lima", "Bonn", "Cork", "Pune", "Kyiv", "Doha"]
numbers = draw.sample(range(100), 64)
with open("tasks.jsonl", "w") as out:
    for i, number in enumerate(numbers):
        boxes = draw.sample([f"{letter}{digit}" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" for digit in range(10)], draw.randint(1, 3))
        order = {
            "number": f"{number:02d}",
            "boxes": boxes,
            "place": f"{draw.choice(CITIES)} {draw.randrange(10)}",
            "fragile": draw.random() < 0.5,
        }
        task = {"goal": f"where is order {number:02d}?", "split": "train" if i < 48 else "eval", "data": order}
        out.write(json.dumps(task) + "\n")
