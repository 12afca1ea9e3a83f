"""Run Pydantic AI on the prompt `go`: pydantic_agent.py ENDPOINT MODEL."""
# pyright: basic, reportMissingImports=false

import asyncio
import sys

from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


async def main(endpoint: str, model: str) -> None:
    """Let the agent work until its model calls nothing more."""
    scripted = OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=f"{model}/v1", api_key="any"))
    ended = await Agent(scripted, toolsets=[MCPToolset(endpoint)]).run("go")
    sys.stdout.write(str(ended.output))


asyncio.run(main(*sys.argv[1:]))
