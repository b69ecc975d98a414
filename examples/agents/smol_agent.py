"""The order desk as an agent of smolagents. Options: --code (it writes Python in place of calls), --stream."""

import os
import sys

from smolagents import CodeAgent, OpenAIModel, ToolCallingAgent, tool

from desk import Desk

desk = Desk()


@tool
def find_order(order: str) -> str:
    """Tells which box an order was put in.

    Args:
        order: The number of the order, two digits such as "48".
    """
    return desk.find_order(order)


@tool
def track_box(box: str) -> str:
    """Tells where a box is: in another box, or at a place.

    Args:
        box: The name of the box, a letter and a digit such as "C7".
    """
    return desk.track_box(box)


@tool
def inspect(box: str) -> str:
    """Looks into a box and tells the state of the goods.

    Args:
        box: The name of the box, a letter and a digit such as "C7".
    """
    return desk.inspect(box)


@tool
def answer(place: str) -> str:
    """Gives the final answer.

    Args:
        place: The place of the order, a city and a shelf such as "Oslo 7".
    """
    return desk.answer(place)


def stop_when_answered(step, agent):
    if desk.place is not None:
        agent.interrupt()


model = OpenAIModel("gpt-4.1", api_base=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"])
kind = CodeAgent if "--code" in sys.argv else ToolCallingAgent
agent = kind(
    tools=[find_order, track_box, inspect, answer],
    model=model,
    stream_outputs="--stream" in sys.argv,
    max_steps=12,
    step_callbacks=[stop_when_answered],
    verbosity_level=0,
)
try:
    agent.run(sys.argv[-1])
except Exception:
    if desk.place is None:
        raise
finally:
    desk.report()
