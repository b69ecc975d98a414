"""shapes.py > aws.json: the shapes of what infra/launch asks of AWS and is answered, from the service models that botocore (Apache-2.0) ships.

Each shape keeps its type, its members and what a value must satisfy; shapes_test.go reads them.
"""

import gzip
import json
import pathlib

import botocore

OPERATIONS = {
    "sagemaker/2017-07-24": ["CreateTrainingJob", "DescribeTrainingJob", "StopTrainingJob", "ListTrainingJobs"],
    "logs/2014-03-28": ["DescribeLogStreams", "GetLogEvents"],
}
RULES = ("type", "required", "enum", "min", "max", "pattern")

out = {"botocore": botocore.__version__}
for path, operations in OPERATIONS.items():
    model = json.load(gzip.open(pathlib.Path(botocore.__file__).parent / "data" / path / "service-2.json.gz"))
    prefix = model["metadata"]["targetPrefix"]
    for operation in operations:
        io = model["operations"][operation]
        todo, shapes = [io[side]["shape"] for side in ("input", "output") if side in io], {}
        out[f"{prefix}.{operation}"] = {"input": io["input"]["shape"], "output": io.get("output", {}).get("shape", ""), "shapes": shapes}
        while todo:
            name = todo.pop()
            if name in shapes:
                continue
            shape = model["shapes"][name]
            small = shapes[name] = {rule: shape[rule] for rule in RULES if rule in shape}
            if "members" in shape:
                small["members"] = {member: of["shape"] for member, of in shape["members"].items()}
            small.update({part: shape[part]["shape"] for part in ("member", "key", "value") if part in shape})
            todo += list(small.get("members", {}).values()) + [small[part] for part in ("member", "key", "value") if part in small]
print(json.dumps(out, indent=None, separators=(",", ":"), sort_keys=True))
