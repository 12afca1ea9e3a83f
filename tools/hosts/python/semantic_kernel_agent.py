"""Run an agent of Semantic Kernel on the prompt `go`: semantic_kernel_agent.py ENDPOINT MODEL."""
# pyright: basic, reportMissingImports=false

import asyncio
import sys

from openai import AsyncOpenAI
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai import FunctionChoiceBehavior
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.connectors.mcp import MCPStreamableHttpPlugin

MOST_TURNS = 60


async def main(endpoint: str, model: str) -> None:
    """Let the agent work until its model calls nothing more."""
    scripted = OpenAIChatCompletion("scripted", async_client=AsyncOpenAI(base_url=f"{model}/v1", api_key="any"))
    async with MCPStreamableHttpPlugin("stepwire", endpoint) as tools:
        able = FunctionChoiceBehavior.Auto(maximum_auto_invoke_attempts=MOST_TURNS)
        agent = ChatCompletionAgent(service=scripted, name="host", plugins=[tools], function_choice_behavior=able)
        sys.stdout.write(str(await agent.get_response("go")))


asyncio.run(main(*sys.argv[1:]))
