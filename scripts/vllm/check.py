"""Checks what scripts/vllm.sh left: every turn has vLLM's token ids and log-probabilities and says which version served it, the
trainer saw the engine's mismatch, the evaluation that waited for a paused vLLM lost nothing, and a restarted vLLM has been given
the adapter again."""

import json
import re
import subprocess
import sys

longhaul, data, log, evaluation = sys.argv[1:]
RUN, UPDATES, MEMBERS = "vllm", 3, 16


def show(what: str) -> dict:
    return json.loads(subprocess.run([longhaul, "show", what, "--json", "--data", data], check=True, capture_output=True).stdout)


def check(holds: bool, what: str) -> None:
    if not holds:
        sys.exit(f"FAILED: {what}")


def turns(update: int) -> int:
    """Checks the turns of an update and counts them."""
    count, want = 0, f"{RUN}@{update - 1:06}"
    shown = show(f"{RUN}/{update}")
    members = [m["id"] for g in shown["groups"] for m in show(g["id"])["members"]]
    check(len(members) == MEMBERS, f"update {update} has {len(members)} members")
    for episode in members:
        trajectory = show(episode)["trajectory"]
        check(trajectory is not None, f"{episode} has no trajectory")
        for turn in trajectory["turns"]:
            action, count = turn["action"], count + 1
            check(action["version"] == want, f"{episode}: a turn of {action['version']}, want {want}")
            check(len(action["tokens"]) == len(action["logprobs"]) > 0, f"{episode}: {len(action['tokens'])} ids, {len(action['logprobs'])} log-probabilities")
            check(action["kept"] + len(action["prompt"]) > 0, f"{episode}: no ids of the prompt")
    metrics, left = shown["summary"]["metrics"], shown["ledger"]["left_out"]
    check(shown["ledger"]["trained"] > 0, f"update {update} trained on nothing: {left}")
    check(not set(left) - {"zero_variance"}, f"update {update} left out {left}")
    check(abs(metrics["mismatch_kl"]) < 1e-4, f"update {update}: mismatch_kl {metrics['mismatch_kl']}")
    print(f"update {update}: {count} turns of {want}, mismatch_kl {metrics['mismatch_kl']:.2e}, loss {metrics['loss']:.5f}, grad_norm {metrics['grad_norm']:.3f}")
    return count


for n in range(1, UPDATES + 1):
    check(turns(n) > 0, f"update {n} has no turns")
with open(evaluation) as f:
    played = json.load(f)
check(played["sampled"]["of"] == played["greedy"]["of"] == 4 and not played.get("failed"), f"the evaluation came to {played}")
print("evaluation: 8 episodes, of which none failed")
loaded = re.findall(rf"Loaded new LoRA adapter: name '({RUN}@\d+)'", open(log).read())
print("vLLM loaded", ", ".join(loaded))
check(loaded.count(f"{RUN}@000001") == 2, "the restarted vLLM was not given version 1 again")
check({f"{RUN}@{n:06}" for n in range(1, UPDATES + 1)} == set(loaded), "not every version was loaded")
print("all as it should be")
