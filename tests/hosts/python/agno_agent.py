"""Run an agent of Agno, without its limit of 10 s a call, on the prompt `go`: agno_agent.py ENDPOINT MODEL."""
# pyright: basic, reportMissingImports=false

import asyncio
import sys

from agno.agent import Agent
from agno.models.openai import OpenAIChat
from agno.tools.mcp import MCPTools


async def main(endpoint: str, model: str) -> None:
    """Let the agent work until its model calls nothing more."""
    scripted = OpenAIChat(id="scripted", base_url=f"{model}/v1", api_key="any")
    async with MCPTools(url=endpoint, timeout_seconds=60) as tools:
        ended = await Agent(model=scripted, tools=[tools], telemetry=False).arun("go")
        sys.stdout.write(str(ended.content))


asyncio.run(main(*sys.argv[1:]))
