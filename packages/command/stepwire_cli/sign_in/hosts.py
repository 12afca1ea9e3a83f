"""The hosts, and what each demands of a server that asks for a sign-in. One table; `rules` reads it.

A row says how sure it is. Callbacks are exact; `{port}` is the host's port, `{url_id}` is computed from the server's
URL, and `{app}` is known only after the connection has been made in the host.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Sure(StrEnum):
    """Where a row comes from."""

    SOURCE = "its source"
    VENDOR = "its vendor's documentation"
    REPORT = "reports of users"
    GUESS = "not verified"


class Takes(StrEnum):
    """What can be entered by hand."""

    NOTHING = "nothing"
    TOKEN = "a bearer token"  # noqa: S105 - a word
    ID = "a client id"
    ID_AND_SECRET = "a client id with a secret"  # noqa: S105 - words


class Demand(StrEnum):
    """What a host insists on."""

    S256 = "S256 in code_challenge_methods_supported"
    NONE_FOR_DOCUMENTS = "none in token_endpoint_auth_methods_supported"
    ISS = "iss in every answer of the issuer"
    EXACT_RESOURCE = "its own URL as resource"
    FREE_PORT = "any port on the loopback"


@dataclass(frozen=True)
class Host:
    """An MCP host."""

    key: str
    name: str
    sure: Sure
    source: str
    callbacks: tuple[str, ...] = ()
    port: int = 0
    """Port of its callback in the configurations that are printed; 0: it has none."""
    document: str | None = None
    """URL of its client ID metadata document."""
    registers: bool = True
    """By dynamic client registration."""
    takes: Takes = Takes.ID
    demands: tuple[Demand, ...] = ()
    perhaps: tuple[Demand, ...] = ()
    """Demands that are suspected."""


HOSTS: Final = (
    Host(
        "claude",
        "Claude on the web, Desktop, mobile",
        Sure.VENDOR,
        "support.claude.com, custom connectors; anthropics/claude-ai-mcp 667, 946 (Aug 2026)",
        callbacks=("https://claude.ai/api/mcp/auth_callback", "https://claude.com/api/mcp/auth_callback"),
        document="https://claude.ai/oauth/mcp-oauth-client-metadata",
        perhaps=(Demand.S256,),
    ),
    Host(
        "claude-code",
        "Claude Code",
        Sure.VENDOR,
        "code.claude.com/docs, MCP; anthropics/claude-code 37767, 67258 (Aug 2026)",
        callbacks=("http://localhost:{port}/callback",),
        port=8080,
        document="https://claude.ai/oauth/claude-code-client-metadata",
        perhaps=(Demand.FREE_PORT,),
    ),
    Host(
        "chatgpt",
        "ChatGPT",
        Sure.VENDOR,
        "developers.openai.com/plugins/build/auth (July 2026)",
        callbacks=(
            "https://chatgpt.com/connector/oauth/{app}",
            "https://chatgpt.com/connector_platform_oauth_redirect",
        ),
        document="https://chatgpt.com/oauth/{app}/client.json",
        demands=(Demand.S256,),
    ),
    Host(
        "vscode",
        "VS Code",
        Sure.SOURCE,
        "microsoft/vscode, oauth.ts; 278512",
        callbacks=(
            "http://127.0.0.1:33418/",
            "http://127.0.0.1:33418",
            "https://vscode.dev/redirect",
            "https://insiders.vscode.dev/redirect",
        ),
        port=33418,
        document="https://vscode.dev/oauth/client-metadata.json",
        demands=(Demand.EXACT_RESOURCE,),
        perhaps=(Demand.FREE_PORT,),
    ),
    Host(
        "cursor",
        "Cursor",
        Sure.VENDOR,
        "cursor.com/docs/mcp (Nov 2026)",
        callbacks=("http://localhost:8787/callback", "https://www.cursor.com/agents/mcp/oauth/callback"),
        port=8787,
    ),
    Host(
        "codex",
        "Codex CLI and IDE",
        Sure.SOURCE,
        "openai/codex, perform_oauth_login.rs; 33354",
        callbacks=("http://127.0.0.1:{port}/callback/{url_id}",),
        port=1455,
        document="https://chatgpt.com/oauth/codex/client.json",
        demands=(Demand.NONE_FOR_DOCUMENTS,),
    ),
    Host(
        "gemini",
        "Gemini CLI",
        Sure.SOURCE,
        "@google/gemini-cli-core 0.61.0",
        callbacks=("http://localhost:{port}/oauth/callback",),
        port=8080,
        demands=(Demand.ISS,),
    ),
    Host(
        "goose",
        "goose",
        Sure.SOURCE,
        "block/goose, oauth/mod.rs",
        callbacks=("http://127.0.0.1:{port}/oauth_callback",),
        port=8080,
        document="https://goose-docs.ai/oauth/client-metadata.json",
        perhaps=(Demand.FREE_PORT,),
    ),
    Host(
        "opencode",
        "opencode",
        Sure.REPORT,
        "anomalyco/opencode 47743",
        callbacks=("http://127.0.0.1:19876/mcp/oauth/callback",),
        port=19876,
        document="https://opencode.ai/oauth/opencode/client.json",
        demands=(Demand.NONE_FOR_DOCUMENTS,),
    ),
    Host(
        "kiro",
        "Kiro",
        Sure.VENDOR,
        "kiro.dev/docs/mcp (2.12)",
        callbacks=("http://localhost:{port}/oauth/callback",),
        port=8080,
    ),
    Host(
        "windsurf",
        "Windsurf",
        Sure.GUESS,
        "no client ID metadata document and no setting for an id was found",
        takes=Takes.NOTHING,
    ),
    Host(
        "inspector",
        "MCP Inspector",
        Sure.SOURCE,
        "@modelcontextprotocol/inspector 2.12",
        callbacks=(
            "http://127.0.0.1:6274/oauth/callback",
            "http://localhost:6274/oauth/callback",
            "http://127.0.0.1:6276/oauth/callback",
        ),
        port=6274,
    ),
    Host(
        "agentcore",
        "AgentCore Gateway",
        Sure.SOURCE,
        "botocore 1.44.5, bedrock-agentcore-control",
        callbacks=("https://bedrock-agentcore.REGION.amazonaws.com/identities/oauth2/callback/{app}",),
        registers=False,
        takes=Takes.ID_AND_SECRET,
    ),
    Host(
        "slackbot",
        "Slackbot",
        Sure.VENDOR,
        "docs.slack.dev (Nov 2026)",
        callbacks=("https://oauth2.slack.com/external/auth/callback",),
        registers=False,
        takes=Takes.ID_AND_SECRET,
    ),
    Host(
        "copilot-agent",
        "Copilot coding agent",
        Sure.VENDOR,
        "docs.github.com, extending the coding agent with MCP",
        registers=False,
        takes=Takes.TOKEN,
    ),
    Host(
        "responses",
        "OpenAI Responses API",
        Sure.VENDOR,
        "developers.openai.com, MCP tools: the caller passes a token",
        registers=False,
        takes=Takes.TOKEN,
    ),
    Host(
        "stepwire",
        "stepwire (this command)",
        Sure.SOURCE,
        "stepwire_cli/browser.py, mcp 2.3.0",
        callbacks=("http://localhost:{port}/callback",),
        port=8080,
    ),
)
