"""A program that breaks the protocol in the way that its argument names, at the second step of an episode where nothing else is said."""

import json
import os
import subprocess
import sys
import time

fault = sys.argv[1]
if fault == "status":
    sys.exit("no such level")
if fault == "deaf":
    time.sleep(600)
hello = {
    "protocol": 1, "name": "faulty", "tasks": {"train": 10, "eval": 10}, "snapshots": True,
    "tools": [{"name": "go", "description": "Goes on.", "parameters": {"type": "object"}, "effect": "episode_local"}],
}
if fault == "newer":
    hello["protocol"] = 2
if fault == "changing":
    hello["version"] = str(time.time())
if fault == "family":  # children that outlive it, one in a session of its own, which neither mind signals or the end of stdin
    code = "import signal, time\nfor s in (1, 2, 15): signal.signal(s, signal.SIG_IGN)\ntime.sleep(600)"
    other = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL)
    stray = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL, start_new_session=True)
    hello["system"] = f"{os.getpid()} {other.pid} {stray.pid}"


def say(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def fail(q):
    """Returns what is replied in place of what is right; None: that."""
    if fault == "crash":
        print("the roof is on fire, and the key is", os.environ.get("FAULTY_KEY"), file=sys.stderr, flush=True)
        os._exit(3)
    if fault == "hang":
        time.sleep(600)
    if fault == "slow" and len(sys.argv) == 2:
        time.sleep(1.5)
    elif fault == "slow":  # it says in a directory that it is at it, and goes on when it is told there
        open(sys.argv[2] + "/at", "w").close()
        while not os.path.exists(sys.argv[2] + "/go"):
            time.sleep(0.01)
    if fault == "noise":
        say("loading 100 %")
        say("")
        say("[1, 2]")
    if fault == "garbage":
        say('{"id": 3, "observation": ')
    if fault == "long":
        say("{" + "x" * (17 << 20))
    if fault == "flood":
        for i in range(100000):
            print("line", i, file=sys.stderr)
        sys.stderr.flush()
    if fault == "big":
        return {"observation": "x" * (10 << 20)}
    return {
        "error": {"error": "the level is broken, says " + str(os.environ.get("FAULTY_KEY"))},
        "twice": {"id": q["id"] - 1},
        "ahead": {"id": q["id"] + 1},
        "nan": {"observation": "x", "reward": float("nan")},
        "typo": {"obervation": "x"},
        "silent": {},
        "type": {"observation": 7},
    }.get(fault)


steps = {}
for line in sys.stdin:
    q = json.loads(line)
    reply = {"observation": "on you go"}
    if q["do"] == "hello":
        reply = hello
    elif q["do"] == "reset":
        steps[q["episode"]] = 0
    elif q["do"] == "step":
        steps[q["episode"]] += 1
        if steps[q["episode"]] == 2:
            wrong = fail(q)
            reply = reply if wrong is None else wrong
    elif q["do"] == "score":
        reply = {"score": steps[q["episode"]]}
    elif q["do"] == "snapshot":
        reply = {"snapshot": steps[q["episode"]]}
    elif q["do"] == "restore":
        reply = {"error": "not mine"}
    else:
        reply = {}
    say(json.dumps({"id": q["id"], **reply}))
if fault == "family":
    time.sleep(600)
