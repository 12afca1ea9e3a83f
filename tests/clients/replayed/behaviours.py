"""The behaviour of released clients that cannot be installed here, one entry each, taken from their sources.

An entry has what the server can see of a client (name, version, headers) and what the client does if a response is not
ready at once. `expects` is how the default settings must serve it.
"""

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

NEWEST: Final = "2025-11-25"
_JSON_FIRST: Final = "application/json, text/event-stream"
_EVENTS_FIRST: Final = "text/event-stream, application/json"
_FAILURES: Final = frozenset(range(400, 600))


class WithoutResumption(Enum):
    """What happens to a call whose response ends early, in a client that does not resume it."""

    HANGS = "hangs"
    FAILS = "fails"


@dataclass(frozen=True)
class Resumption:
    """How a client resumes a response, by GET with the last event id."""

    most_gets: int | None = None
    """The limit of GETs per request, including successful ones; None is no limit."""
    failures: int | None = 2
    """The number of failed GETs in a row that ends the call; None is no limit."""
    same_ids: int | None = None
    """The number of bodies in a row with the same last event id that ends the session; None is no limit."""
    ends_session: frozenset[int] = frozenset()
    """Statuses that end the whole session."""
    ends_call: frozenset[int] = frozenset({204, 405})
    """Statuses after which the call never gets its response."""
    polls_after_cancel: bool = False
    """Whether it continues to poll a cancelled request until one of `ends_call`."""


class Expected(Enum):
    """How the default settings serve a client."""

    JSON = "JSON within the wait"
    POLLED = "a response that it comes back for"


@dataclass(frozen=True)
class Behaviour:
    """One client."""

    label: str
    name: str
    version: str = "1.0.0"
    offers: str = NEWEST
    user_agent: str | None = None
    accept: str = _JSON_FIRST
    sends_version: bool = True
    """Whether requests after `initialize` have the header MCP-Protocol-Version."""
    keeps_session: bool = True
    """Whether requests after `initialize` have the header MCP-Session-Id."""
    resumption: Resumption | WithoutResumption = WithoutResumption.HANGS
    timeout: float | None = None
    """Seconds after which it gives up a call; None is never."""
    sends_token: bool = False
    """Whether its calls have a progressToken."""
    progress_resets: bool = False
    """Whether progress restarts its timer."""
    query: str = ""
    """What its user appended to the endpoint's URL."""
    asks_user: bool = True
    """Whether it declares elicitation."""
    shows_cards: bool = False
    """Whether it declares cards, which not all of its modes can show."""
    expects: Expected = Expected.JSON


TYPESCRIPT: Final = Resumption(polls_after_cancel=True)
PYTHON: Final = Resumption(ends_call=frozenset({405}), polls_after_cancel=True)
GO: Final = Resumption(failures=5, same_ids=5, ends_session=_FAILURES, ends_call=frozenset())
CSHARP: Final = Resumption(
    failures=5, ends_session=frozenset({404}), ends_call=frozenset(range(400, 500)) - frozenset({404})
)
RUST: Final = Resumption(failures=None, ends_call=frozenset())
KOTLIN: Final = Resumption(ends_call=frozenset({404, 405}))
RUBY: Final = Resumption(most_gets=2)

NEVER: Final = (
    Behaviour("Java SDK (Spring AI)", "spring-ai-mcp-client", user_agent="Java-http-client/21.0.2", timeout=20),
    Behaviour("Java SDK on Reactor Netty", "my-agent", user_agent="ReactorNetty/1.2.3", timeout=20),
    Behaviour("langchain4j", "langchain4j", user_agent="Java-http-client/21.0.2", timeout=60),
    Behaviour("mcp-go", "my-go-app", user_agent="Go-http-client/1.1", resumption=WithoutResumption.FAILS),
    Behaviour("rmcp 1.5 to 2.1", "rmcp", "2.1.0", accept=_EVENTS_FIRST),
    Behaviour("Vercel ai-sdk", "ai-sdk-mcp-client", user_agent="node"),
    Behaviour("PHP SDK", "MCP PHP Client", timeout=120, sends_version=False),
    Behaviour("Swift SDK", "my-mac-app", user_agent="MyApp/1 CFNetwork/1568.100 Darwin/24.0.0"),
    Behaviour("Zed", "Zed", "0.210.0", resumption=WithoutResumption.FAILS),
    Behaviour(
        "VS Code",
        "Visual Studio Code",
        "1.110.0",
        user_agent="Visual Studio Code/1.110.0",
        accept=_EVENTS_FIRST,
        sends_version=False,
    ),
    Behaviour("ChatGPT", "openai-mcp", user_agent="openai-mcp/1.0.0", asks_user=False),
    Behaviour("claude.ai", "Anthropic/ClaudeAI", user_agent="Claude-User", keeps_session=False, asks_user=False),
)
"""Clients that offer 2025-11-25 and never resume a response."""

IN_PART: Final = (
    Behaviour("Kotlin SDK", "my-android-app", user_agent="ktor-client", resumption=KOTLIN),
    Behaviour("Ruby SDK", "mcp-ruby-client", "1.3.0", user_agent="Faraday v2.14.0", resumption=RUBY, timeout=300),
)
"""Clients that resume, but not always or not for long."""

OF_UNKNOWN_NAME: Final = (
    Behaviour("Go SDK", "my-go-app", user_agent="Go-http-client/1.1", resumption=GO),
    Behaviour("C# SDK", "MyAgent", resumption=CSHARP),
    Behaviour("TypeScript SDK, any app", "my-app", user_agent="node", resumption=TYPESCRIPT, timeout=60),
)
"""Clients that resume, with a name that does not identify the SDK."""

OLDER: Final = (
    Behaviour("Codex CLI", "codex-mcp-client", "0.160.0", "2025-06-18", "codex-mcp-client/0.160.0", _EVENTS_FIRST),
    Behaviour("Goose", "goose", "1.9.0", "2025-03-26", accept=_EVENTS_FIRST, timeout=300),
    Behaviour("Gemini CLI", "gemini-cli-mcp-client", "0.61.0", "2025-06-18", "node", timeout=600),
)
"""Clients that offer an older version."""

RESUMING: Final = (
    Behaviour(
        "Python SDK", "mcp", "0.1.0", user_agent="python-httpx/0.28.1", resumption=PYTHON, expects=Expected.POLLED
    ),
    Behaviour("rmcp 2.2", "rmcp", "2.2.0", accept=_EVENTS_FIRST, resumption=RUST, expects=Expected.POLLED),
    Behaviour("rmcp 3", "rmcp", "3.1.4", accept=_EVENTS_FIRST, resumption=RUST, expects=Expected.POLLED),
    Behaviour(
        "Codex CLI 0.169",
        "codex-mcp-client",
        "0.169.0",
        "2025-06-18",
        "codex-mcp-client/0.169.0",
        _EVENTS_FIRST,
        resumption=RUST,
        timeout=60,
        sends_token=True,
        expects=Expected.POLLED,
    ),
    Behaviour(
        "opencode",
        "opencode",
        "1.18.33",
        user_agent="opencode/1.18.33",
        resumption=TYPESCRIPT,
        timeout=60,
        expects=Expected.POLLED,
    ),
    Behaviour(
        "MCP Inspector",
        "mcp-inspector",
        "2.12.0",
        user_agent="node",
        resumption=TYPESCRIPT,
        timeout=60,
        sends_token=True,
        progress_resets=True,
        expects=Expected.POLLED,
    ),
)
"""Clients that are known to resume."""

QWEN_CODE: Final = Behaviour(
    "Qwen Code, print mode",
    "qwen-cli-mcp-client-stepwire",
    "0.0.1",
    user_agent="undici",
    resumption=TYPESCRIPT,
    timeout=600,
    sends_token=True,
    asks_user=False,
    shows_cards=True,
)
"""Declares cards, of which its print mode shows none."""

TOLD_BY_URL: Final = (
    *(
        replace(one, label=f"{one.label}, ?resume=1", query="resume=1", expects=Expected.POLLED)
        for one in OF_UNKNOWN_NAME
    ),
    *(
        replace(one, label=f"{one.label}, ?resume=0", query="key=1&resume=0", expects=Expected.JSON)
        for one in RESUMING
        if not one.progress_resets
    ),
    *(replace(one, label=f"{one.label}, ?resume=1", query="resume=1") for one in OLDER),
)
"""The same clients, whose users state in the URL whether they resume; older versions cannot."""

CLIENTS: Final = (*NEVER, *IN_PART, *OF_UNKNOWN_NAME, *OLDER, *RESUMING, *TOLD_BY_URL)
