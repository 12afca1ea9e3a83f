"""Run an agent of AutoGen with the tools of autogen-ext on the prompt `go`: autogen_agent.py ENDPOINT MODEL."""
# pyright: basic, reportMissingImports=false

import asyncio
import sys

from autogen_agentchat.agents import AssistantAgent
from autogen_core.models import ModelFamily, ModelInfo
from autogen_ext.models.openai import OpenAIChatCompletionClient
from autogen_ext.tools.mcp import McpWorkbench, StreamableHttpServerParams

MOST_TURNS = 60


async def main(endpoint: str, model: str) -> None:
    """Let the agent work until its model calls nothing more."""
    able = ModelInfo(
        vision=False, function_calling=True, json_output=False, family=ModelFamily.UNKNOWN, structured_output=False
    )
    scripted = OpenAIChatCompletionClient(model="scripted", base_url=f"{model}/v1", api_key="any", model_info=able)
    async with McpWorkbench(StreamableHttpServerParams(url=endpoint)) as tools:
        agent = AssistantAgent("host", scripted, workbench=tools, max_tool_iterations=MOST_TURNS)
        sys.stdout.write(str((await agent.run(task="go")).messages[-1]))


asyncio.run(main(*sys.argv[1:]))
