"""The order desk as a LangGraph agent with LangChain's OpenAI model. Options: --responses, --stream."""

import sys

from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent

from desk import SYSTEM, Desk

desk = Desk()
tools = [StructuredTool.from_function(t, parse_docstring=True) for t in (desk.find_order, desk.track_box, desk.inspect)]
tools.append(StructuredTool.from_function(desk.answer, parse_docstring=True, return_direct=True))
model = ChatOpenAI(model="gpt-4.1", streaming="--stream" in sys.argv, use_responses_api="--responses" in sys.argv)
agent = create_react_agent(model, tools, prompt=SYSTEM)
try:
    agent.invoke({"messages": [("user", sys.argv[-1])]}, {"recursion_limit": 25})
finally:
    desk.report()
