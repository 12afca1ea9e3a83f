"""Run an agent of smolagents that calls tools on the prompt `go`: smolagents_agent.py ENDPOINT MODEL."""
# pyright: basic, reportMissingImports=false

import sys

from smolagents import MCPClient, OpenAIModel, ToolCallingAgent

MOST_TURNS = 60


def main(endpoint: str, model: str) -> None:
    """Let the agent work until its model calls nothing more."""
    scripted = OpenAIModel("scripted", api_base=f"{model}/v1", api_key="any")
    with MCPClient({"url": endpoint, "transport": "streamable-http"}) as tools:
        # This agent demands each argument, even an optional one, unless its schema is marked so.
        for argument in (one for tool in tools for one in tool.inputs.values()):
            argument["nullable"] = True
        sys.stdout.write(str(ToolCallingAgent(tools, scripted, max_steps=MOST_TURNS).run("go")))


main(*sys.argv[1:])
