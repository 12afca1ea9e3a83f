"""Run an agent of Microsoft Agent Framework on the prompt `go`: agent_framework_agent.py ENDPOINT MODEL."""
# pyright: basic, reportMissingImports=false

import asyncio
import sys

from agent_framework import Agent, MCPStreamableHTTPTool
from agent_framework_openai import OpenAIChatCompletionClient


async def main(endpoint: str, model: str) -> None:
    """Let the agent work until its model calls nothing more."""
    scripted = OpenAIChatCompletionClient("scripted", base_url=f"{model}/v1", api_key="any")
    async with MCPStreamableHTTPTool("stepwire", endpoint) as tools, Agent(scripted, name="host", tools=tools) as agent:
        sys.stdout.write(str(await agent.run("go")))


asyncio.run(main(*sys.argv[1:]))
