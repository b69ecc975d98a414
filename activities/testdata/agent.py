"""An agent without a framework: it says "on" to whatever it is answered, four times."""

import json
import os
import urllib.request

messages = [{"role": "user", "content": os.environ["LONGHAUL_GOAL"]}]
for _ in range(4):
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps({"model": "any", "messages": messages}).encode(),
        {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:
        said = json.load(answer)["choices"][0]["message"]["content"]
    messages += [{"role": "assistant", "content": said}, {"role": "user", "content": "on"}]
with open(os.environ["LONGHAUL_DIR"] + "/score.json", "w") as score:
    json.dump({"score": 0.5, "reason": said}, score)
