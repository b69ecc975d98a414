"""The order desk as an agent of the OpenAI Agents SDK. Options: --chat (chat completions; else responses), --stream."""

import asyncio
import sys

from agents import Agent, Runner, StopAtTools, function_tool, set_default_openai_api, set_tracing_disabled

from desk import SYSTEM, Desk

set_tracing_disabled(True)  # it would report to OpenAI
if "--chat" in sys.argv:
    set_default_openai_api("chat_completions")


async def main(goal):
    desk = Desk()
    agent = Agent(
        name="desk",
        model="gpt-4.1",
        instructions=SYSTEM,
        tools=[function_tool(t) for t in (desk.find_order, desk.track_box, desk.inspect, desk.answer)],
        tool_use_behavior=StopAtTools(stop_at_tool_names=["answer"]),
    )
    try:
        if "--stream" in sys.argv:
            run = Runner.run_streamed(agent, goal, max_turns=12)
            async for _ in run.stream_events():
                pass
        else:
            await Runner.run(agent, goal, max_turns=12)
    finally:
        desk.report()


asyncio.run(main(sys.argv[-1]))
