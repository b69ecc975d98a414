"""What went over the wire between longhaul and a judge: count.py RECORD, as serve.py writes it."""

import json
import statistics
import sys


def holds(schema: dict, value) -> bool:
    """Whether a value is of the form that was asked for: of JSON schema, only what longhaul uses."""
    match schema["type"]:
        case "object":
            return isinstance(value, dict) and set(value) == set(schema["required"]) and all(holds(schema["properties"][k], v) for k, v in value.items())
        case "array":
            return isinstance(value, list) and all(holds(schema["items"], v) for v in value)
        case "number":
            return type(value) in (int, float)
        case "string":
            return isinstance(value, str) and value in schema.get("enum", [value])
    raise ValueError(schema["type"])


def held(chat: dict) -> bool:
    try:
        value = json.loads(text(chat))
    except json.JSONDecodeError:
        return False
    return holds(chat["request"]["response_format"]["json_schema"]["schema"], value)


def text(chat: dict) -> str:
    return chat["reply"]["choices"][0]["message"]["content"]


def whole(chat: dict) -> bool:
    return chat["reply"]["choices"][0]["finish_reason"] == "stop"


def main(record: str):
    with open(record, encoding="utf-8") as f:
        chats = [json.loads(line) for line in f]
    answered = [c for c in chats if c["status"] == 200]
    # A further ask repeats the first question and says what was wrong with the reply.
    question = lambda c: (c["request"]["seed"], c["request"]["messages"][1]["content"])
    first = {question(c) for c in answered if len(c["request"]["messages"]) == 2}
    again = [c for c in answered if len(c["request"]["messages"]) > 2]
    wholes = [c for c in answered if whole(c) and "response_format" in c["request"]]
    usage = [c["reply"]["usage"] for c in answered]
    for what, seen in [
        ("calls", len(chats)),
        ("answered", len(answered)),
        ("refused", ", ".join(sorted({f"{c['status']} {c['reply']['error']['message']}" for c in chats if c["status"] != 200})) or "none"),
        ("comparisons asked for", len(first)),
        ("valid at first ask", len(first - {question(c) for c in again})),
        ("asked again", len(again)),
        ("cut off at reply_tokens", sum(not whole(c) for c in answered)),
        ("whole replies to a schema", len(wholes)),
        ("of them in its form", sum(map(held, wholes))),
        ("idempotency keys, different", len({c["key"] for c in answered})),
        ("prompt tokens a call, median", statistics.median(u["prompt_tokens"] for u in usage)),
        ("reply tokens a call, median", statistics.median(u["completion_tokens"] for u in usage)),
        ("seconds a call, median", round(statistics.median(c["seconds"] for c in answered), 1)),
    ]:
        print(f"{what:30}{seen}")


main(sys.argv[1])
