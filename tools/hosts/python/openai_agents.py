"""Run the OpenAI Agents SDK on the prompt `go`, with its own limit of 5 s a call: openai_agents.py ENDPOINT MODEL."""
# pyright: basic, reportMissingImports=false

import asyncio
import sys

from agents import Agent, OpenAIResponsesModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp
from openai import AsyncOpenAI

MOST_TURNS = 60


async def main(endpoint: str, model: str) -> None:
    """Let the agent work until its model calls nothing more."""
    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=f"{model}/v1", api_key="any")
    async with MCPServerStreamableHttp(params={"url": endpoint}) as server:
        agent = Agent(name="host", model=OpenAIResponsesModel("scripted", client), mcp_servers=[server])
        ended = await Runner.run(agent, "go", max_turns=MOST_TURNS)
        sys.stdout.write(str(ended.final_output))


asyncio.run(main(*sys.argv[1:]))
