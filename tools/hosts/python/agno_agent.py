"""Run an agent of Agno, in the newest version and with 30 s a call, on the prompt `go`: THIS_FILE ENDPOINT MODEL."""
# pyright: basic, reportMissingImports=false

import asyncio
import sys

from agno.agent import Agent
from agno.models.openai import OpenAIChat
from agno.tools.mcp import MCPTools


async def main(endpoint: str, model: str) -> None:
    """Let the agent work until its model calls nothing more."""
    scripted = OpenAIChat(id="scripted", base_url=f"{model}/v1", api_key="any")
    async with MCPTools(url=endpoint, protocol_mode="auto", timeout_seconds=30) as tools:
        ended = await Agent(model=scripted, tools=[tools], telemetry=False).arun("go")
        sys.stdout.write(str(ended.content))


asyncio.run(main(*sys.argv[1:]))
