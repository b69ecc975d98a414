"""The loop that the adapters here share. docs/process.md is the protocol, and number.py a world without this."""

import json, os, sys, traceback


def serve(hello, begin, reference):
    """Answers until stdin ends.

    begin(task) makes an episode with .observation, .step(name, arguments) -> (observation, done) and .score() -> (score, metrics).
    reference(task) lists calls (name, arguments) that solve a task. A task has split, index and seed.
    """
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever libraries print goes to stderr
    episodes = {}

    def answer(q):
        do, name = q["do"], q.get("episode")
        if do == "hello":
            return {"protocol": 1, "reference": True, **hello}
        if do == "reset":
            episodes[name] = begin(q["task"])
            return {"observation": episodes[name].observation}
        if do == "step":
            observation, done = episodes[name].step(q["call"]["name"], q["call"]["arguments"])
            return {"observation": observation, "done": done}
        if do == "score":
            score, metrics = episodes[name].score()
            return {"score": score, "metrics": metrics}
        if do == "reference":
            return {"calls": [{"name": name, "arguments": arguments} for name, arguments in reference(q["task"])]}
        if do == "close":
            episodes.pop(name, None)
            return {}
        raise ValueError(f"{do} is not done here")

    for line in sys.stdin:
        q = json.loads(line)
        try:
            reply = answer(q)
        except Exception as e:
            traceback.print_exc()
            reply = {"error": repr(e)}
        print(json.dumps({"id": q["id"], **reply}), file=replies, flush=True)
