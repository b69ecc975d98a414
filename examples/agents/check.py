"""Scores an episode: 1 for the right place, of a fragile order only when its last box was inspected before."""

import json
import os
import sys

order = json.loads(os.environ["LONGHAUL_TASK"])["data"]
lines = sys.stdin.read().split("\n")
report = {"place": None, "inspected": False}
for line in lines:
    if line.startswith('{"place"'):
        report = json.loads(line)
if report["place"] is None:
    print(json.dumps({"score": 0, "reason": "no answer"}))
elif report["place"].strip() != order["place"]:
    print(json.dumps({"score": 0, "reason": "wrong place; it is at " + order["place"]}))
elif order["fragile"] and not report["inspected"]:
    print(json.dumps({"score": 0, "reason": "right place, but the order is fragile and was not inspected"}))
else:
    print(json.dumps({"score": 1, "reason": "right place"}))
