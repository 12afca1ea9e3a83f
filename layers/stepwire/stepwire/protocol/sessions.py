"""The session of a legacy client: a token that holds what the client declared, so that no session is stored.

It is checked like any input and needs no secret. It grants nothing: forging one only changes what the client claims of
itself, which `initialize` lets it do anyway. It never tells who is calling (L11).

Which responses the client resumes is decided once, at `initialize`, by what is known about released clients. A wrong
yes is a call that hangs; a wrong no is a result that says where the work goes on. So a plain call is polled only by
clients on a list, and everybody else gets JSON. For `tasks/result` the rule is the other way round: only clients with
tasks send it, and nearly all of them resume it.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import Any, Final, cast

from msgspec import Struct, field

from stepwire.errors import UnknownSession
from stepwire.json_text import Json, JsonObject, as_object, is_object, write
from stepwire.protocol.messages import MessageId
from stepwire.protocol.tokens import LONGEST, encode, unwrap, wrap

ANYBODY: Final = "*"
KNOWN: Final = "known"
"""The entry that stands for `KNOWN_CLIENTS`."""
KNOWN_CLIENTS: Final = (
    "mcp",  # the Python SDK, in all hosts that keep its default
    "mcp-inspector",
    "inspector-client",
    "rmcp>=2.2.0",
    "claude-code>=2.1.197",  # seen in runs of 2.1.197, and of 2.1.330 where it speaks 2025-11-25; earlier ones: unknown
    "opencode",
    "stepwire-client",
    "codex-mcp-client>=0.169.0",  # speaks 2025-06-18
    "@n8n/n8n-nodes-langchain.mcpClientTool",
)
_ENTRY: Final = re.compile(r"(?P<name>[^>=]+?)\s*(?:>=\s*(?P<version>\d{1,6}(?:\.\d{1,6}){0,3}))?")
_NUMBERS: Final = re.compile(r"\d{1,6}(\.\d{1,6}){0,3}")
# Those that were seen to resume in an older version, which has no polling: others hang or fail there.
_IN_OLDER_VERSIONS: Final = ("codex-mcp-client",)
# HTTP libraries and hosts that never resume, or not reliably. A proxy may change the header, so it can only exclude.
_VETOED: Final = (
    "java-http-client",
    "reactornetty",
    "ktor-client",
    "faraday",
    "cfnetwork",
    "visual studio code",
    "claude-user",
    "openai-mcp",
)
# Prefixes of the names of hosts that have tasks, but do not resume `tasks/result` either.
_VETOED_NAMES: Final = ("visual studio code", "visual-studio-code")


class Resumes(Struct, frozen=True):
    """Which responses a client resumes."""

    calls: bool = False
    """Those to a plain `tools/call`."""
    results: bool = False
    """Those to `tasks/result`."""


NEVER: Final = Resumes()


class ClientInfo(Struct, frozen=True):
    """What a client said of itself at `initialize`."""

    name: str = ""
    version: str = ""
    user_agent: str = ""


class ResumingClient(Struct, frozen=True):
    """An entry of the list: a name, and from which version on."""

    name: str
    since: tuple[int, ...] = ()

    def is_named(self, client: ClientInfo) -> bool:
        """Tell whether the entry is about this client, of whatever version."""
        return self.name in {client.name, ANYBODY}

    def includes(self, client: ClientInfo) -> bool:
        """Tell whether this client resumes a response."""
        return self.is_named(client) and (not self.since or _numbers(client.version) >= self.since)


class ResumingClients(Struct, frozen=True):
    """The clients that resume the response to a plain call."""

    entries: tuple[ResumingClient, ...] = ()

    def decide_older(self, client: ClientInfo, asked: bool | None = None) -> Resumes:  # noqa: FBT001 - as below
        """Decide the same for a version before polling: `?resume=` can only say that the client does not."""
        is_seen = client.name in _IN_OLDER_VERSIONS and asked is not False
        return Resumes(calls=is_seen and self.decide(client).calls)

    def decide(self, client: ClientInfo, asked: bool | None = None) -> Resumes:  # noqa: FBT001 - the parameter is `?resume=` in the URL
        """Decide which responses a client resumes; `?resume=` in the URL overrides everything else."""
        if asked is not None:
            return Resumes(asked, asked)
        is_vetoed = any(one in client.user_agent.casefold() for one in _VETOED)
        if is_vetoed or client.name.casefold().startswith(_VETOED_NAMES):
            return NEVER
        if any(one.includes(client) for one in self.entries):
            return Resumes(calls=True, results=True)
        is_too_old = any(one.is_named(client) for one in self.entries)
        return Resumes(results=not is_too_old)


def resuming_clients(entries: Iterable[str]) -> ResumingClients:
    """Read a list of names, such as `known`, `my-agent` or `rmcp>=2.2.0`.

    Raises:
        ValueError: an entry is none; the message names it.
    """
    expanded = (each for entry in entries for each in (KNOWN_CLIENTS if entry == KNOWN else (entry,)))
    return ResumingClients(tuple(map(_entry, expanded)))


def _entry(text: str) -> ResumingClient:
    match = _ENTRY.fullmatch(text.strip())
    if match is None:
        raise ValueError(text)
    return ResumingClient(match["name"], _numbers(match["version"] or ""))


def _numbers(version: str) -> tuple[int, ...]:
    """Read the numbers that a version begins with; none sort before all."""
    found = _NUMBERS.match(version)
    return tuple(map(int, found[0].split("."))) if found else ()


RANDOM_BYTES: Final = 16
_FORMAT: Final = 1
_LONGEST_NAME: Final = 64  # characters
_LONGEST_VERSION: Final = 32  # characters
_MOST_CAPABILITIES: Final = 16


class Session(Struct, frozen=True):
    """What a legacy client declared with `initialize`; empty if its request names no session."""

    version: str | None = None
    client_name: str = ""
    client_version: str = ""
    capabilities: JsonObject = field(default_factory=dict[str, Any])
    """The declared capabilities: their names, and the names of their settings; of `tasks`, all levels there are."""
    id: str = ""
    """The token itself."""
    resumes: Resumes = NEVER
    """Which responses the client resumes."""

    def digest_of(self, message_id: MessageId) -> str | None:
        """Return a digest that identifies a request of this session, for its cancellation; None without a session."""
        if not self.id:
            return None
        named = write([self.id, message_id]).encode()
        return hashlib.blake2b(named, digest_size=16, person=b"stepwire").hexdigest()


def client_info_of(params: JsonObject, user_agent: str = "") -> ClientInfo:
    """Read what a client says of itself in the parameters of `initialize`, cut to a bounded length."""
    info = as_object(params.get("clientInfo"))
    return ClientInfo(_text(info.get("name"), _LONGEST_NAME), _text(info.get("version"), _LONGEST_VERSION), user_agent)


def session_id_of(version: str, params: JsonObject, random: bytes, resumes: Resumes = NEVER) -> str:
    """Make the token of a session.

    Args:
        version: what was agreed on.
        params: those of `initialize`.
        random: makes each token another (L10); `RANDOM_BYTES` of it.
        resumes: which responses the client resumes.
    """
    client, flags, nonce = client_info_of(params), resumes.calls + 2 * resumes.results, encode(random)
    capabilities = as_object(params.get("capabilities"))
    tasks = _declared({"tasks": capabilities.get("tasks")}, 4)  # which requests may become tasks is named that deep
    declared = ({**_declared(capabilities, 2), **tasks, **_extensions(capabilities)}, _declared(capabilities, 1))
    tokens = (wrap([_FORMAT, version, client.name, client.version, each, flags, nonce]) for each in declared)
    # Oversized declarations are cut to their top level, then dropped with the names.
    return next((one for one in tokens if len(one) <= LONGEST), wrap([_FORMAT, version, "", "", {}, flags, nonce]))


def session_of(session_id: str | None) -> Session:
    """Return the session that a token holds; an empty one without a token.

    Raises:
        UnknownSession: this server did not issue the token.
    """
    if session_id is None:
        return Session()
    match unwrap(session_id):
        case [1, str(version), str(name), str(release), capabilities, 0 | 1 | 2 | 3 as flags, str()] if (
            is_object(capabilities) and type(flags) is int
        ):
            resumes = Resumes(calls=bool(flags & 1), results=bool(flags & 2))
            return Session(version, name, release, capabilities, session_id, resumes)
        case _:
            raise UnknownSession("The MCP-Session-Id was not issued by this server: initialize again.")


def _text(value: Json, longest: int) -> str:
    return str(value)[:longest] if isinstance(value, str) else ""


def _extensions(capabilities: JsonObject) -> JsonObject:
    """Return the declared extensions, with the names of their settings and of what a setting lists."""
    declared = as_object(capabilities.get("extensions"))
    names = _declared(declared, 1)
    return {"extensions": {name: _listed(as_object(declared[name])) for name in names}} if names else {}


def _listed(settings: JsonObject) -> JsonObject:
    """Return the names of settings. An object takes the place of a list: a session holds names."""
    listed: JsonObject = {}
    for name, value in settings.items():
        if isinstance(value, list):
            listed[name] = {str(one): {} for one in cast(list[Json], value)}
        elif isinstance(value, dict):
            listed[name] = value
    return _declared(listed, 2)


def _declared(capabilities: Json, depth: int) -> JsonObject:
    """Return the names of declared capabilities to that depth; a server needs no more of them."""
    if not depth:
        return {}
    declared = list(as_object(capabilities).items())[:_MOST_CAPABILITIES]
    return {
        name: _declared(settings, depth - 1)
        for name, settings in declared
        if len(name) <= _LONGEST_NAME and isinstance(settings, dict)
    }
