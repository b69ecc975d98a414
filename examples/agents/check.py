"""Scores an episode: 1 for the right place, of a fragile order only when its last box was inspected before."""

import json
import os

order = json.loads(os.environ["LONGHAUL_TASK"])["data"]
try:
    with open(os.path.join(os.environ["LONGHAUL_DIR"], "report.json")) as file:
        report = json.load(file)
except FileNotFoundError:  # the agent was cut off
    report = {"place": None, "inspected": False}
if report["place"] is None:
    print(json.dumps({"score": 0, "reason": "no answer"}))
elif str(report["place"]).strip() != order["place"]:
    print(json.dumps({"score": 0, "reason": "wrong place; it is at " + order["place"]}))
elif order["fragile"] and not report["inspected"]:
    print(json.dumps({"score": 0, "reason": "right place, but the order is fragile and was not inspected"}))
else:
    print(json.dumps({"score": 1, "reason": "right place"}))
