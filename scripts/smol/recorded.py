"""Says what scripts/smol.sh left on record, and keeps some of its prompts for compare.py: recorded.py LONGHAUL DIR. Every turn must
have vLLM's token ids, their log-probabilities and the version that served it, and every update must have been trained on something."""

import json
import subprocess
import sys
from pathlib import Path

longhaul, work = sys.argv[1], Path(sys.argv[2])
RUN, UPDATES, PROMPTS = "smol", 2, 4


def show(what: str) -> dict:
    return json.loads(subprocess.run([longhaul, "show", what, "--json", "--data", work / "data"], check=True, capture_output=True).stdout)


def check(holds: bool, what: str) -> None:
    if not holds:
        sys.exit(f"FAILED: {what}")


def update(n: int) -> list[list[int]]:
    """Checks the turns of an update and says what they come to. Returns the prompts of the first ones."""
    shown, want = show(f"{RUN}/{n}"), f"{RUN}@{n - 1:06}"
    prompts, count, calls, sampled = [], 0, 0, 0
    for episode in [m["id"] for g in shown["groups"] for m in show(g["id"])["members"]]:
        for i, turn in enumerate(show(episode)["trajectory"]["turns"]):
            action = turn["action"]
            check(action["version"] == want, f"{episode}: a turn of {action['version']}, want {want}")
            check(len(action["tokens"]) == len(action["logprobs"]) > 0, f"{episode}: {len(action['tokens'])} ids, {len(action['logprobs'])} log-probabilities")
            if i == 0:
                check(len(action["prompt"]) > 0, f"{episode}: no ids of the prompt")
                prompts.append(action["prompt"])
            count, calls, sampled = count + 1, calls + len(action["message"].get("tool_calls") or []), sampled + len(action["tokens"])
    check(shown["ledger"]["trained"] > 0, f"update {n} trained on nothing: {shown['ledger']['left_out']}")
    metrics = " ".join(f"{k} {v:.3g}" for k, v in sorted(shown["summary"]["metrics"].items()))
    print(f"update {n}: {count} turns of {want}, {sampled} sampled ids, {calls} tool calls\n  {metrics}")
    return prompts


prompts = [p for n in range(1, UPDATES + 1) for p in update(n)]
distinct = list(map(list, dict.fromkeys(map(tuple, prompts))))
(work / "prompts.json").write_text(json.dumps(distinct[:PROMPTS]))
