"""The hosts: how each is installed, told of its model and of the endpoint, and run; and what it is known to do."""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.npm import NODE

PACKAGES: Final = Path(__file__).parent / "node"
_MODULES: Final = PACKAGES / "node_modules"
_DRIVERS: Final = Path(__file__).parent / "python"
_ENVIRONMENTS: Final = Path(__file__).parents[2] / ".venv-hosts"
_KEY: Final = "sk-ant-test-00000000000000000000"
"""Any text: the scripted model checks no key."""
PROMPT: Final = "go"
_SHOWN_URL: Final = "http://127.0.0.1:3000/mcp"
"""The endpoint's URL in the documents."""
_CLAUDE_ADD: Final = f"claude mcp add --transport http stepwire {_SHOWN_URL}"
_GEMINI_ADD: Final = f"gemini mcp add --scope user --transport http stepwire {_SHOWN_URL}"
_OPENCODE_SETTINGS: Final = f'{{"mcp": {{"stepwire": {{"type": "remote", "url": "{_SHOWN_URL}", "oauth": false}}}}}}'
_QWEN_ADD: Final = f"qwen mcp add --transport http stepwire {_SHOWN_URL}"
_CLINE_ADD: Final = f"cline mcp add stepwire {_SHOWN_URL} --transport streamable-http --yes"
_CONTINUE_SETTINGS: Final = (
    f'{{"mcpServers": [{{"name": "stepwire", "type": "streamable-http", "url": "{_SHOWN_URL}"}}]}}'
)
_AI_SDK_CLIENT: Final = f'createMCPClient({{ transport: {{ type: "http", url: "{_SHOWN_URL}" }} }})'
_ACCEPT: Final = ("\x1b[B", "\x1b[B", "\r")
"""Two lines down and Enter: the button below the two fields of the refund's form."""


@dataclass(frozen=True)
class Places:
    """Where things are in one run of a host."""

    home: Path
    endpoint: str
    model: str
    authorization: str = ""
    """What signs in at the endpoint; empty: nobody need."""


@dataclass(frozen=True)
class Command:
    """How a host is started; on a terminal, the prompt is typed."""

    arguments: Sequence[str]
    variables: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Host:
    """A host in one of its modes."""

    name: str
    files: str
    """A pattern for its program, among the installed packages: its path names the machine's kind. Of a library: its
    driver, in `python` or `node`."""
    connect: str
    """How docs/clients.md says to connect it: its own command, or its settings as JSON."""
    prepare: Callable[[Places], Command]
    """Writes the host's settings into its home, and returns the arguments that start it."""
    packages: Sequence[str] = ()
    """Of a Python host: the packages that pip installs for it, with their versions."""
    header: str = ""
    """The option of `connect` that adds a header to each request; empty: no case has it sign in."""
    on_terminal: bool = False
    has_tasks: bool = False
    """Whether it declares tasks, so that the tools which fetch are hidden from it."""
    searches: bool = True
    """Whether its model can search for tools; not where it shows no tool named `call_tool`."""
    refund: str = "not_asked"
    """The status with which the refund's question ends; empty: nobody can answer it there, and it stays open."""
    answer: Sequence[str] = ()
    """The keys that answer the question's form."""
    cancels: bool = False
    """Whether a call that is given up ends its task."""
    cancels_at_its_end: bool = False
    """Whether Ctrl-C, which ends it, ends the task of its call too."""
    give_up: Sequence[str] = ()
    """The keys that give up a call; without any, the model stops the work or Ctrl-C ends the host."""

    @property
    def is_script(self) -> bool:
        """Tell whether Node.js or Python runs it."""
        return self.files.endswith((".js", ".mjs", ".py"))

    @property
    def is_library(self) -> bool:
        """Tell whether a driver of ours runs it, which gets the addresses as its arguments."""
        return self.prepare is _driven

    @property
    def environment(self) -> Path:
        """Return the folder of a Python host's environment."""
        return _ENVIRONMENTS / self.files.removesuffix(".py")

    @property
    def program(self) -> Path | None:
        """Return the program for this machine; None if npm installed none."""
        folder = _DRIVERS if self.packages else PACKAGES if self.is_library else _MODULES
        return next(iter(sorted(folder.glob(self.files))), None)

    def words(self, arguments: Sequence[str]) -> Sequence[str]:
        """Return the command that runs it with arguments; its program must be there."""
        runtime = self.environment / "bin/python" if self.packages else NODE
        return [*([str(runtime)] if self.is_script else []), str(self.program), *arguments]

    def connection(self, places: Places) -> Sequence[str] | None:
        """Return the command that connects it to the endpoint; None where its settings do."""
        if self.connect.startswith("{") or self.is_library:
            return None
        signed_in = [self.header, f"Authorization: {places.authorization}"] if places.authorization else []
        return self.words([*shlex.split(self.connect.replace(_SHOWN_URL, places.endpoint))[1:], *signed_in])


def _settings(path: Path, settings: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(settings), encoding="utf-8")


def _claude(places: Places, *mode: str, **variables: str) -> Command:
    settings = {
        "hasCompletedOnboarding": True,
        "customApiKeyResponses": {"approved": [_KEY[-20:]], "rejected": []},
        "projects": {str(places.home / "work"): {"hasTrustDialogAccepted": True}},
    }
    _settings(places.home / ".claude.json", settings)
    known = {"ANTHROPIC_BASE_URL": places.model, "ANTHROPIC_API_KEY": _KEY, "ENABLE_TOOL_SEARCH": "false"}
    return Command([*mode, "--allowedTools", "mcp__stepwire"], {**known, **variables})


def _claude_on_a_terminal(places: Places) -> Command:
    return _claude(places, TERM="xterm-256color")


def _older_claude_on_a_terminal(places: Places) -> Command:
    return _claude(places, TERM="xterm-256color", MCP_PROTOCOL_NEGOTIATION="legacy")


def _claude_in_print_mode(places: Places) -> Command:
    return _claude(places, "-p", PROMPT)


def _older_claude_in_print_mode(places: Places) -> Command:
    return _claude(places, "-p", PROMPT, MCP_PROTOCOL_NEGOTIATION="legacy")


def _opencode(places: Places) -> Command:
    settings = {
        **json.loads(_OPENCODE_SETTINGS.replace(_SHOWN_URL, places.endpoint)),
        **dict.fromkeys(("model", "small_model"), "scripted/model"),
        "autoupdate": False,
        "provider": {"scripted": _compatible_provider(places)},
    }
    _settings(places.home / "work/opencode.json", settings)
    return Command(["run", PROMPT])


def _gemini(places: Places) -> Command:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
    }
    _settings(places.home / ".gemini/settings.json", settings)
    variables = {"GEMINI_API_KEY": _KEY, "GOOGLE_GEMINI_BASE_URL": places.model, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    # With a named model, none is asked which model to take.
    return Command(["--model", "gemini-2.5-pro", "--yolo", "-p", PROMPT], variables)


def _codex(places: Places) -> Command:
    # Its own command for a server writes to this file, so the model's provider stands before it.
    path = places.home / ".codex/config.toml"
    path.parent.mkdir()
    provider = f'name = "scripted"\nbase_url = "{places.model}/v1"\nenv_key = "KEY"\nwire_api = "responses"\n'
    chosen = 'model = "scripted"\nmodel_provider = "scripted"\n'
    path.write_text(f"{chosen}[model_providers.scripted]\n{provider}", encoding="utf-8")
    mode = ("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")
    return Command([*mode, PROMPT], {"KEY": _KEY, "MODEL": places.model})


def _qwen(places: Places) -> Command:
    settings = {
        "security": {"auth": {"selectedType": "openai"}},
        "model": {"name": "scripted"},
        # Without it, its model has to search for a tool first, and to call it by another.
        "tools": {"toolSearch": {"enabled": False}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False},
    }
    _settings(places.home / ".qwen/settings.json", settings)
    variables = {"OPENAI_BASE_URL": f"{places.model}/v1", "OPENAI_API_KEY": _KEY, "OPENAI_MODEL": "scripted"}
    return Command(["--yolo", "-p", PROMPT], variables)


def _cline(places: Places) -> Command:
    chosen: dict[str, Any] = {
        "provider": "openai-compatible",
        "apiKey": _KEY,
        "model": "scripted",
        "baseUrl": f"{places.model}/v1",
    }
    providers = {
        "openai-compatible": {"settings": chosen, "updatedAt": "2026-11-23T00:00:00Z", "tokenSource": "manual"}
    }
    settings = {"version": 1, "lastUsedProvider": "openai-compatible", "modes": {}, "providers": providers}
    _settings(places.home / ".cline/data/settings/providers.json", settings)
    # It takes one word for a command.
    return Command([f"{PROMPT} on"])


def _continue(places: Places) -> Command:
    model = {"provider": "openai", "model": "scripted", "apiBase": f"{places.model}/v1", "apiKey": _KEY}
    settings = {
        "name": "host",
        "version": "1.0.0",
        "schema": "v1",
        "models": [{"name": "scripted", "roles": ["chat"], "capabilities": ["tool_use"], **model}],
        **json.loads(_CONTINUE_SETTINGS.replace(_SHOWN_URL, places.endpoint)),
    }
    path = places.home / "continue.json"
    _settings(path, settings)
    variables = {"CONTINUE_TELEMETRY_ENABLED": "0", "CONTINUE_CLI_ENABLE_TELEMETRY": "0"}
    return Command(["--config", str(path), "--auto", "-p", PROMPT], variables)


def _kilo(places: Places) -> Command:
    settings = {
        **dict.fromkeys(("model", "small_model"), "scripted/model"),
        "autoupdate": False,
        "provider": {"scripted": _compatible_provider(places)},
    }
    _settings(places.home / "work/kilo.json", settings)
    return Command(["run", "--auto", PROMPT])


def _compatible_provider(places: Places) -> Mapping[str, Any]:
    """Return the scripted model as opencode and its kin want it described."""
    return {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{places.model}/v1", "apiKey": _KEY},
        "models": {"model": {}},
    }


def _driven(places: Places) -> Command:
    return Command([places.endpoint, places.model])


# Of opencode, cline and Kilo, only the program for Linux on x64 is locked: `npm ci` wants all that a package names, and
# a registry lacks some. So package.json also replaces parts of Qwen Code for other machines, which nothing here needs.
_OPENCODE: Final = "opencode-*/bin/opencode"
_CLAUDE: Final = "@anthropic-ai/claude-code-*/claude"
_OLDER_CLAUDE: Final = f"claude-code-of-2025-11-25/node_modules/{_CLAUDE}"

HOSTS: Final = (
    Host(
        "Claude Code 2.1.330, interactive",
        _CLAUDE,
        _CLAUDE_ADD,
        _claude_on_a_terminal,
        header="--header",
        on_terminal=True,
        has_tasks=True,
        refund="refunded",
        answer=_ACCEPT,
        cancels=True,
    ),
    Host(
        "Claude Code 2.1.330, interactive, of 2025-11-25",
        _CLAUDE,
        _CLAUDE_ADD,
        _older_claude_on_a_terminal,
        on_terminal=True,
        refund="refunded",
        answer=_ACCEPT,
        cancels=True,
        give_up=("\x1b",),
    ),
    Host(
        "Claude Code 2.1.330, claude -p",
        _CLAUDE,
        _CLAUDE_ADD,
        _claude_in_print_mode,
        header="--header",
        refund="dismissed",
    ),
    Host(
        "Claude Code 2.1.330, claude -p, of 2025-11-25",
        _CLAUDE,
        _CLAUDE_ADD,
        _older_claude_in_print_mode,
        refund="dismissed",
    ),
    Host("Claude Code 2.1.197, claude -p", _OLDER_CLAUDE, _CLAUDE_ADD, _claude_in_print_mode, refund="dismissed"),
    Host("opencode 1.18.33, opencode run", _OPENCODE, _OPENCODE_SETTINGS, _opencode),
    Host("Gemini CLI 0.61.0, gemini -p", "@google/gemini-cli/bundle/gemini.js", _GEMINI_ADD, _gemini),
    Host(
        "Codex 0.169.0, codex exec",
        "@openai/codex-*/vendor/*/bin/codex",
        f"codex mcp add stepwire --url {_SHOWN_URL}",
        _codex,
        refund="declined",
        cancels=True,
    ),
    Host("Qwen Code 0.24.4, qwen -p", "@qwen-code/qwen-code/cli-entry.js", _QWEN_ADD, _qwen, refund=""),
    Host("cline 3.0.65", "@cline/cli-linux-x64/bin/cline", _CLINE_ADD, _cline, cancels_at_its_end=True),
    Host("Continue 1.5.47, cn -p", "@continuedev/cli/dist/cn.js", _CONTINUE_SETTINGS, _continue),
    Host(
        "Kilo 7.7.7, kilo run",
        "@kilocode/cli-linux-x64/bin/kilo",
        f"kilo mcp add stepwire --url {_SHOWN_URL}",
        _kilo,
    ),
    Host("AI SDK 2.0.99", "ai_sdk_agent.mjs", _AI_SDK_CLIENT, _driven),
    Host(
        "Mastra 2.0.0",
        "mastra_agent.mjs",
        f'new MCPClient({{ servers: {{ stepwire: {{ url: new URL("{_SHOWN_URL}") }} }} }})',
        _driven,
    ),
    Host(
        "OpenAI Agents SDK 0.24.0",
        "openai_agents.py",
        f'MCPServerStreamableHttp(params={{"url": "{_SHOWN_URL}"}})',
        _driven,
        ("openai-agents==0.24.0", "mcp==2.3.0"),
    ),
    Host(
        "Strands 1.62.0",
        "strands_agents.py",
        f'MCPClient(lambda: streamable_http_client("{_SHOWN_URL}"))',
        _driven,
        ("strands-agents[openai]==1.62.0", "mcp==2.1.1"),
    ),
    Host(
        "LangChain adapters 0.3.2",
        "langchain_agent.py",
        f'MultiServerMCPClient({{"stepwire": {{"transport": "streamable_http", "url": "{_SHOWN_URL}"}}}})',
        _driven,
        ("langchain-mcp-adapters==0.3.2", "mcp==1.30.0", "langchain-openai==1.7.3", "langgraph"),
    ),
    Host(
        "Pydantic AI 2.68.0",
        "pydantic_agent.py",
        f'MCPToolset("{_SHOWN_URL}")',
        _driven,
        ("pydantic-ai-slim[openai,mcp,fastmcp]==2.68.0", "fastmcp-slim==4.2.1"),
    ),
    Host(
        "CrewAI 1.15.30",
        "crewai_agent.py",
        f'MCPServerAdapter({{"url": "{_SHOWN_URL}", "transport": "streamable-http"}})',
        _driven,
        ("crewai-tools[mcp]==1.15.30", "mcp==1.30.0"),
    ),
    Host(
        "google-adk 2.13.0",
        "adk_agent.py",
        f'McpToolset(connection_params=StreamableHTTPConnectionParams(url="{_SHOWN_URL}"))',
        _driven,
        ("google-adk==2.13.0", "mcp==2.3.0", "litellm"),
    ),
    Host(
        "smolagents 1.26.0",
        "smolagents_agent.py",
        f'MCPClient({{"url": "{_SHOWN_URL}", "transport": "streamable-http"}})',
        _driven,
        ("smolagents[mcp,openai]==1.26.0", "mcp==1.30.0", "websockets"),
    ),
    Host(
        "autogen-ext 0.7.5",
        "autogen_agent.py",
        f'McpWorkbench(StreamableHttpServerParams(url="{_SHOWN_URL}"))',
        _driven,
        ("autogen-ext[openai,mcp]==0.7.5", "autogen-agentchat==0.7.5", "mcp==1.30.0"),
    ),
    Host(
        "Agent Framework 1.23.0",
        "agent_framework_agent.py",
        f'MCPStreamableHTTPTool("stepwire", "{_SHOWN_URL}")',
        _driven,
        ("agent-framework-core==1.23.0", "mcp==2.3.0", "agent-framework-openai==1.17.0", "tenacity"),
    ),
    Host(
        "LlamaIndex 0.6.0",
        "llamaindex_agent.py",
        f'McpToolSpec(BasicMCPClient("{_SHOWN_URL}", timeout=60))',
        _driven,
        ("llama-index-tools-mcp==0.6.0", "llama-index-core", "llama-index-llms-openai-like"),
        cancels_at_its_end=True,
    ),
    Host(
        "Haystack 2.1.1",
        "haystack_agent.py",
        f'MCPToolset(StreamableHttpServerInfo(url="{_SHOWN_URL}"), invocation_timeout=60)',
        _driven,
        ("mcp-haystack==2.1.1", "haystack-ai"),
    ),
    Host(
        "Semantic Kernel 1.45.0",
        "semantic_kernel_agent.py",
        f'MCPStreamableHttpPlugin("stepwire", "{_SHOWN_URL}")',
        _driven,
        ("semantic-kernel[mcp]==1.45.0",),
        searches=False,
    ),
    Host(
        "Agno 3.1.10",
        "agno_agent.py",
        f'MCPTools(url="{_SHOWN_URL}", protocol_mode="auto", timeout_seconds=30)',
        _driven,
        ("agno[mcp]==3.1.10", "fastmcp==4.1.2", "openai"),
    ),
)


def variables_of(places: Places) -> Mapping[str, str]:
    """Return variables for every host: all that is not on this machine is asked of the model, which refuses it."""
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), places.model)
    return {**proxies, "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
