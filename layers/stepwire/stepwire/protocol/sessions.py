"""The session of a legacy client: a token that holds what the client declared, so that no session is stored.

It is checked like any input and needs no secret. It grants nothing: forging one only changes what the client claims of
itself, which `initialize` lets it do anyway. It never tells who is calling (L11).
"""

import hashlib
from typing import Any, Final, cast

from msgspec import Struct, field

from stepwire.errors import UnknownSession
from stepwire.json_text import Json, JsonObject, as_object, is_object, write
from stepwire.protocol.messages import MessageId
from stepwire.protocol.opaque import LONGEST, encode, unwrap, wrap
from stepwire.protocol.resumption import NEVER, ClientInfo, Resumes, switch_in
from stepwire.protocol.versions import CARD_MIME_TYPE, UI_EXTENSION

RANDOM_BYTES: Final = 16
_FORMAT: Final = 1
_LONGEST_NAME: Final = 64  # characters
_LONGEST_VERSION: Final = 32  # characters
_MOST_CAPABILITIES: Final = 16
_CARDS: Final = "cards"


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
    declared = ({**_declared(capabilities, 2), **tasks, **_cards(capabilities)}, _declared(capabilities, 1))
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


def shows_cards(capabilities: JsonObject, query: str = "") -> bool:
    """Tell whether a client declares that its host shows cards (MCP Apps), in a message or in its session.

    `cards=1` in the query of the URL says so for a host that declares nothing, and `cards=0` that it does not.

    Raises:
        InvalidParams: the query says something else.
    """
    asked = switch_in(query, _CARDS) if query else None
    if asked is not None:
        return asked
    if "extensions" not in capabilities:
        return False  # most clients
    declared: Json = as_object(as_object(capabilities.get("extensions")).get(UI_EXTENSION)).get("mimeTypes")
    return isinstance(declared, list | dict) and CARD_MIME_TYPE in cast(list[Json] | JsonObject, declared)


def _text(value: Json, longest: int) -> str:
    return str(value)[:longest] if isinstance(value, str) else ""


def _cards(capabilities: JsonObject) -> JsonObject:
    """Return the extensions of a client whose host shows cards, with what says so; empty for all others."""
    if not shows_cards(capabilities):
        return {}
    # An object takes the place of the list: a session holds names, and names of settings.
    shown: JsonObject = {UI_EXTENSION: {"mimeTypes": {CARD_MIME_TYPE: {}}}}
    return {"extensions": {**_declared(capabilities["extensions"], 1), **shown}}


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
