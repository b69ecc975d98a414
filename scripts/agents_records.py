"""Prints the trajectories of a run, one a line, and last how many there are: LONGHAUL RUN DATA."""

import json
import subprocess
import sys

longhaul, run, data = sys.argv[1:]


def show(what):
    return json.loads(subprocess.check_output([longhaul, "show", what, "--json", "--data", data]))


episodes = turns = 0
for update in show(run)["updates"]:
    number = update["update"]
    for group in show(f"{run}/{number}")["groups"]:
        for member in range(len(group["scores"]["scores"])):
            trajectory = show(f"{run}/{number}/{group['task']['id']}/{member}")["trajectory"]
            print(json.dumps(trajectory, sort_keys=True))
            episodes, turns = episodes + 1, turns + len(trajectory["turns"])
print(f"{episodes} episodes, {turns} turns")
