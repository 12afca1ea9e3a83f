"""Run an agent of Haystack with mcp-haystack and 60 s a call on the prompt `go`: haystack_agent.py ENDPOINT MODEL."""
# pyright: basic, reportMissingImports=false

import os
import sys

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.utils import Secret
from haystack_integrations.tools.mcp import MCPToolset, StreamableHttpServerInfo

MOST_TURNS = 60


def main(endpoint: str, model: str) -> None:
    """Let the agent work until its model calls nothing more."""
    scripted = OpenAIChatGenerator(Secret.from_token("any"), "scripted", api_base_url=f"{model}/v1")
    tools = MCPToolset(StreamableHttpServerInfo(url=endpoint), invocation_timeout=60)
    agent = Agent(chat_generator=scripted, tools=tools, max_agent_steps=MOST_TURNS)
    sys.stdout.write(str(agent.run([ChatMessage.from_user("go")])["messages"][-1].text))
    tools.close()


main(*sys.argv[1:])
