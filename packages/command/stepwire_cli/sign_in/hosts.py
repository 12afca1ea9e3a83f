"""The hosts that the command configures: their callbacks and their client ID metadata documents. One table.

Callbacks are exact; `{port}` is the host's port, `{url_id}` is computed from the server's URL, and `{app}` is known
only after the connection has been made in the host. docs/hosts_sign_in.md says where each row comes from, and when.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Host:
    """An MCP host."""

    key: str
    name: str
    callbacks: tuple[str, ...] = ()
    port: int = 0
    """Port of its callback in the configurations that are printed; 0: it has none."""
    document: str | None = None
    """URL of its client ID metadata document."""
    has_secret: bool = False
    """Whether it takes only an id with a secret, which somebody makes for it."""


HOSTS: Final = (
    Host(
        "claude",
        "Claude on the web, Desktop, mobile",
        callbacks=("https://claude.ai/api/mcp/auth_callback", "https://claude.com/api/mcp/auth_callback"),
        document="https://claude.ai/oauth/mcp-oauth-client-metadata",
    ),
    Host(
        "claude-code",
        "Claude Code",
        callbacks=("http://localhost:{port}/callback",),
        port=8080,
        document="https://claude.ai/oauth/claude-code-client-metadata",
    ),
    Host(
        "chatgpt",
        "ChatGPT",
        callbacks=(
            "https://chatgpt.com/connector/oauth/{app}",
            "https://chatgpt.com/connector_platform_oauth_redirect",
        ),
        document="https://chatgpt.com/oauth/{app}/client.json",
    ),
    Host(
        "vscode",
        "VS Code",
        callbacks=(
            "http://127.0.0.1:33418/",
            "http://127.0.0.1:33418",
            "https://vscode.dev/redirect",
            "https://insiders.vscode.dev/redirect",
        ),
        port=33418,
        document="https://vscode.dev/oauth/client-metadata.json",
    ),
    Host(
        "cursor",
        "Cursor",
        callbacks=("http://localhost:8787/callback", "https://www.cursor.com/agents/mcp/oauth/callback"),
        port=8787,
    ),
    Host(
        "codex",
        "Codex CLI and IDE",
        callbacks=("http://127.0.0.1:{port}/callback/{url_id}",),
        port=1455,
        document="https://chatgpt.com/oauth/codex/client.json",
    ),
    Host(
        "gemini",
        "Gemini CLI",
        callbacks=("http://localhost:{port}/oauth/callback",),
        port=8080,
    ),
    Host(
        "goose",
        "goose",
        callbacks=("http://127.0.0.1:{port}/oauth_callback",),
        port=8080,
        document="https://goose-docs.ai/oauth/client-metadata.json",
    ),
    Host(
        "opencode",
        "opencode",
        callbacks=("http://127.0.0.1:19876/mcp/oauth/callback",),
        port=19876,
        document="https://opencode.ai/oauth/opencode/client.json",
    ),
    Host(
        "kiro",
        "Kiro",
        callbacks=("http://localhost:{port}/oauth/callback",),
        port=8080,
    ),
    Host(
        "windsurf",
        "Windsurf",
    ),
    Host(
        "inspector",
        "MCP Inspector",
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
        callbacks=("https://bedrock-agentcore.REGION.amazonaws.com/identities/oauth2/callback/{app}",),
        has_secret=True,
    ),
    Host(
        "slackbot",
        "Slackbot",
        callbacks=("https://oauth2.slack.com/external/auth/callback",),
        has_secret=True,
    ),
    Host(
        "stepwire",
        "stepwire (this command)",
        callbacks=("http://localhost:{port}/callback",),
        port=8080,
    ),
)
