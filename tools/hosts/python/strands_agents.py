"""Run Strands on the prompt `go`: strands_agents.py ENDPOINT MODEL."""
# pyright: basic, reportMissingImports=false

import sys

from mcp.client.streamable_http import streamable_http_client
from strands import Agent
from strands.models.openai import OpenAIModel
from strands.tools.mcp import MCPClient


def main(endpoint: str, model: str) -> None:
    """Let the agent work until its model calls nothing more."""
    scripted = OpenAIModel(client_args={"base_url": f"{model}/v1", "api_key": "any"}, model_id="scripted")
    with MCPClient(lambda: streamable_http_client(endpoint)) as client:
        sys.stdout.write(str(Agent(model=scripted, tools=client.list_tools_sync())("go")))


main(*sys.argv[1:])
