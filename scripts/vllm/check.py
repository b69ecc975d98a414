"""Checks what scripts/vllm.sh left: every turn, those of the evaluations too, has vLLM's token ids and log-probabilities and says
which version served it; the trainer saw the engine's mismatch; the updates had vLLM's machine for longer than a turn may take, and
no episode that waited meanwhile was lost, cut off or played by another version; a restarted vLLM has been given the adapter again."""

import json
import re
import subprocess
import sys
from pathlib import Path

longhaul, data, work = sys.argv[1], sys.argv[2], Path(sys.argv[3])
RUNS, MEMBERS, TASKS, TURN = {"vllm": 3, "nap": 1}, 16, 4, 30  # TURN: seconds that a turn may take


def show(what: str) -> dict:
    return json.loads(subprocess.run([longhaul, "show", what, "--json", "--data", data], check=True, capture_output=True).stdout)


def check(holds: bool, what: str) -> None:
    if not holds:
        sys.exit(f"FAILED: {what}")


def turns(episode: str, trajectory: dict | None, version: str) -> int:
    """Checks the turns of an episode and counts them."""
    check(trajectory is not None, f"{episode} has no trajectory")
    check(trajectory["stop"] != "timeout", f"{episode} ran out of time")
    for turn in trajectory["turns"]:
        action = turn["action"]
        check(action["version"] == version, f"{episode}: a turn of {action['version']}, want {version}")
        check(len(action["tokens"]) == len(action["logprobs"]) > 0, f"{episode}: {len(action['tokens'])} ids, {len(action['logprobs'])} log-probabilities")
        check(action["kept"] + len(action["prompt"]) > 0, f"{episode}: no ids of the prompt")
    return len(trajectory["turns"])


def trained(run: str, update: int) -> None:
    shown, version = show(f"{run}/{update}"), f"{run}@{update - 1:06}"
    members = [m["id"] for g in shown["groups"] for m in show(g["id"])["members"]]
    check(len(members) == MEMBERS, f"{run}/{update} has {len(members)} members")
    count = sum(turns(episode, show(episode)["trajectory"], version) for episode in members)
    summary, left = shown["summary"], shown["ledger"]["left_out"]
    metrics, job = summary["metrics"], summary["job"]
    check(shown["ledger"]["trained"] > 0, f"{run}/{update} trained on nothing: {left}")
    check(not set(left) - {"zero_variance"}, f"{run}/{update} left out {left}")
    check(0 < abs(metrics["mismatch_kl"]) < 1e-4, f"{run}/{update}: mismatch_kl {metrics['mismatch_kl']}")
    check(job["attempts"] == 1 and job["ran_seconds"] > TURN, f"{run}/{update}: its job took {job}")
    print(
        f"{run}/{update}: {count} turns of {version}, mismatch_kl {metrics['mismatch_kl']:.2e}, ratio_max {metrics['ratio_max']:.4f}, "
        f"loss {metrics['loss']:.5f}, grad_norm {metrics['grad_norm']:.3f}, a job of {job['ran_seconds']:.0f} s"
    )


def evaluated(run: str) -> None:
    result = json.loads((work / f"{run}.eval.json").read_text())
    check(result["sampled"]["of"] == result["greedy"]["of"] == TASKS and not result.get("failed"), f"the evaluation of {run} came to {result}")
    episodes = show(f"{run}@0/{result['key']}")["episodes"]
    count = sum(turns(e["id"], e["trajectory"], f"{run}@000000") for e in episodes)
    print(f"{run}@0: {len(episodes)} episodes and {count} turns evaluated, which waited for an update")


def waits(log: str) -> list[tuple[int, list[int]]]:
    """The pauses of vLLM, by its own log: how many seconds each took, and how many each request that came in it waited."""
    pauses: list[tuple[int, list[int]]] = []
    began, came = None, []
    for h, m, s, what in re.findall(r" (\d\d):(\d\d):(\d\d) \[\S+\] (setting pause state to \w+|Received request)", log):
        at = int(h) * 3600 + int(m) * 60 + int(s)
        if what == "Received request":
            came.append(at)
        elif what.endswith(" UNPAUSED") and began is not None:
            pauses.append(((at - began) % 86400, [(at - c) % 86400 for c in came]))
            began = None
        elif " PAUSED_" in what and began is None:
            began, came = at, []
    return pauses


for run, updates in RUNS.items():
    for n in range(1, updates + 1):
        trained(run, n)
    evaluated(run)
log = (work / "vllm.log").read_text()
long = [(took, came) for took, came in waits(log) if took > TURN]
for took, came in long:
    print(f"vLLM stood still for {took} s, in which {len(came)} requests came" + (f" and waited for {min(came)} s and more" if came else ""))
check(len(long) == sum(RUNS.values()) + 1, f"{len(long)} long pauses, want one an update and one by somebody else")
check(sum(len(came) >= 2 * TASKS and min(came) > TURN for _, came in long) >= len(RUNS), "an evaluation did not wait for longer than a turn may take")
check('"POST /sleep?level=1&mode=wait HTTP/1.1" 200' in log, "vLLM was never asleep")
loaded = re.findall(r"Loaded new LoRA adapter: name '(\w+@\d+)'", log)
print("vLLM loaded", ", ".join(loaded))
check(loaded.count("vllm@000001") == 2, "the restarted vLLM was not given version 1 again")
check({f"{run}@{n:06}" for run, updates in RUNS.items() for n in range(1, updates + 1)} == set(loaded), "not every version was loaded")
print("all as it should be")
