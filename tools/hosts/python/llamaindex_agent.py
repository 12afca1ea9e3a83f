"""Run LlamaIndex with llama-index-tools-mcp and 60 s a call on the prompt `go`: llamaindex_agent.py ENDPOINT MODEL."""
# pyright: basic, reportMissingImports=false

import asyncio
import sys

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai_like import OpenAILike
from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

MOST_TURNS = 60


async def main(endpoint: str, model: str) -> None:
    """Let the agent work until its model calls nothing more."""
    scripted = OpenAILike(
        "scripted", api_base=f"{model}/v1", api_key="any", is_chat_model=True, is_function_calling_model=True
    )
    tools = await McpToolSpec(BasicMCPClient(endpoint, timeout=60)).to_tool_list_async()
    agent = FunctionAgent(tools=tools, llm=scripted)
    sys.stdout.write(str(await agent.run("go", max_iterations=MOST_TURNS)))


asyncio.run(main(*sys.argv[1:]))
