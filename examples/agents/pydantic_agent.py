"""The order desk as a pydantic-ai agent. Options: --responses, --stream."""

import asyncio
import sys

from pydantic_ai import Agent, ToolOutput

from desk import SYSTEM, Desk


async def main(goal):
    desk = Desk()
    model = ("openai-responses:" if "--responses" in sys.argv else "openai-chat:") + "gpt-4.1"
    agent = Agent(
        model,
        instructions=SYSTEM,
        tools=[desk.find_order, desk.track_box, desk.inspect],
        output_type=ToolOutput(desk.answer, name="answer"),
    )
    try:
        if "--stream" in sys.argv:
            async with agent.run_stream(goal) as run:
                await run.get_output()
        else:
            await agent.run(goal)
    finally:
        desk.report()


asyncio.run(main(sys.argv[-1]))
