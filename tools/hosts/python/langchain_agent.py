"""Run an agent of LangGraph with langchain-mcp-adapters on the prompt `go`: langchain_agent.py ENDPOINT MODEL."""
# pyright: basic, reportMissingImports=false

import asyncio
import sys

from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent


async def main(endpoint: str, model: str) -> None:
    """Let the agent work until its model calls nothing more."""
    scripted = ChatOpenAI(model="scripted", base_url=f"{model}/v1", api_key="any")
    tools = await MultiServerMCPClient({"stepwire": {"transport": "streamable_http", "url": endpoint}}).get_tools()
    agent = create_react_agent(scripted, tools)
    ended = await agent.ainvoke({"messages": [("user", "go")]})
    sys.stdout.write(str(ended["messages"][-1].content))


asyncio.run(main(*sys.argv[1:]))
