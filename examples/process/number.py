"""A world for longhaul in Python: find a number by guessing. docs/process.md is the protocol; number.ts is the same world."""

import json, os, sys

MOST, GUESSES = 1000, 10
HELLO = {
    "protocol": 1, "name": "number", "version": "1",
    "system": f"Find a number from 1 to {MOST} in at most {GUESSES} guesses.",
    "tools": [{
        "name": "guess",
        "description": "Says whether the number is higher, lower, or right.",
        "parameters": {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"], "additionalProperties": False},
        "effect": "episode_local",
    }],
    "tasks": {"train": 10000, "eval": 1000},
    "snapshots": True,
    "reference": True,
}


def secret(task):
    return 1 + task["seed"] % MOST


def say(game, guess):
    game["guesses"] += 1
    game["found"] = guess == game["number"]
    if game["found"]:
        return {"observation": "right", "done": True}
    return {"observation": "higher" if guess < game["number"] else "lower", "done": game["guesses"] == GUESSES}


def answer(q, games):
    do, name = q["do"], q.get("episode")
    if do == "hello":
        return HELLO
    if do == "reference":
        return {"calls": [{"name": "guess", "arguments": {"number": secret(q["task"])}}]}
    if do in ("reset", "restore"):
        games[name] = {"guesses": 0, "found": False, **q.get("snapshot", {}), "number": secret(q["task"])}
        return {"observation": f"Which number from 1 to {MOST} is it?"} if do == "reset" else {}
    if do == "close":
        games.pop(name, None)
        return {}
    if do == "step":
        return say(games[name], q["call"]["arguments"]["number"])
    return {"snapshot": games[name]} if do == "snapshot" else {"score": float(games[name]["found"]), "metrics": {"guesses": games[name]["guesses"]}}


if __name__ == "__main__":
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed goes to stderr
    games = {}
    for line in sys.stdin:
        q = json.loads(line)
        try:
            reply = answer(q, games)
        except Exception as e:
            reply = {"error": repr(e)}
        print(json.dumps({"id": q["id"], **reply}), file=replies, flush=True)
