"""Run an agent of CrewAI with the adapter of crewai-tools on the prompt `go`: crewai_agent.py ENDPOINT MODEL."""
# pyright: basic, reportMissingImports=false

import os
import sys

# Without these it asks for addresses on the internet, and its user about traces.
os.environ.update(CREWAI_DISABLE_TELEMETRY="true", OTEL_SDK_DISABLED="true", CREWAI_TRACING_ENABLED="false")

from crewai import LLM, Agent
from crewai_tools import MCPServerAdapter

MOST_TURNS = 60


def main(endpoint: str, model: str) -> None:
    """Let the agent work until its model calls nothing more."""
    scripted = LLM(model="openai/scripted", base_url=f"{model}/v1", api_key="any")
    with MCPServerAdapter({"url": endpoint, "transport": "streamable-http"}) as tools:
        agent = Agent(role="host", goal="go", backstory="A host.", llm=scripted, tools=tools, max_iter=MOST_TURNS)
        sys.stdout.write(str(agent.kickoff("go")))


main(*sys.argv[1:])
