"""Run an agent of google-adk on the prompt `go`: adk_agent.py ENDPOINT MODEL."""
# pyright: basic, reportMissingImports=false

import asyncio
import os
import sys

# Without it the table of prices is asked for on the internet.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

from google.adk.agents import LlmAgent
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool import McpToolset, StreamableHTTPConnectionParams


async def main(endpoint: str, model: str) -> None:
    """Let the agent work until its model calls nothing more."""
    scripted = LiteLlm(model="openai/scripted", api_base=f"{model}/v1", api_key="any")
    tools = McpToolset(connection_params=StreamableHTTPConnectionParams(url=endpoint))
    runner = InMemoryRunner(LlmAgent(name="host", model=scripted, tools=[tools]))
    sys.stdout.write(str((await runner.run_debug("go", quiet=True))[-1].content))
    await tools.close()
    await runner.close()


asyncio.run(main(*sys.argv[1:]))
