"""The session of a legacy client: a token that says what the client said of itself, so that no session is stored.

It is checked like any input, needs no secret, and gives nobody anything: whoever forges one says something else of
himself, which `initialize` would have let him do as well. It never tells who is calling (L11).
"""

import hashlib
from dataclasses import dataclass, field
from typing import Any, Final

from stepwire.errors import UnknownSession
from stepwire.json_text import Json, JsonObject, as_object, is_object, write
from stepwire.protocol.messages import MessageId
from stepwire.protocol.opaque import LONGEST, encode, unwrap, wrap

RANDOM_BYTES: Final = 16
_FORMAT: Final = 1
_LONGEST_NAME: Final = 64  # characters
_MOST_CAPABILITIES: Final = 16


@dataclass(frozen=True)
class Session:
    """What a legacy client said of itself when it began; all of it empty where it shows no session."""

    version: str | None = None
    client_name: str = ""
    capabilities: JsonObject = field(default_factory=dict[str, Any])
    """The names that it declared, each with the names of its settings."""
    id: str = ""
    """The token itself."""

    def digest_of(self, message_id: MessageId) -> str | None:
        """Name a request of this session, so that the client can cancel it; None without a session."""
        if not self.id:
            return None
        named = write([self.id, message_id]).encode()
        return hashlib.blake2b(named, digest_size=16, person=b"stepwire").hexdigest()


def session_id_of(version: str, params: JsonObject, random: bytes) -> str:
    """Make the token of a session.

    Args:
        version: what was agreed on.
        params: those of `initialize`.
        random: makes each token another (L10); `RANDOM_BYTES` of it.
    """
    name = as_object(params.get("clientInfo")).get("name")
    shown = str(name)[:_LONGEST_NAME] if isinstance(name, str) else ""
    nonce = encode(random)
    tokens = (wrap([_FORMAT, version, shown, _declared(params.get("capabilities"), depth), nonce]) for depth in (2, 1))
    # Nobody declares so much; who does is taken at his first words, or for one who declares nothing.
    return next((token for token in tokens if len(token) <= LONGEST), wrap([_FORMAT, version, "", {}, nonce]))


def session_of(session_id: str | None) -> Session:
    """Read the token of a session; without one, nothing is known.

    Raises:
        UnknownSession: it is none of ours.
    """
    if session_id is None:
        return Session()
    match unwrap(session_id):
        case [1, str(version), str(name), capabilities, str()] if is_object(capabilities):
            return Session(version, name, capabilities, session_id)
        case _:
            raise UnknownSession("The MCP-Session-Id is none that this server has given out: initialize again.")


def _declared(capabilities: Json, depth: int) -> JsonObject:
    """Keep the names of what is declared, for two levels: all that a server asks of them."""
    if not depth:
        return {}
    declared = list(as_object(capabilities).items())[:_MOST_CAPABILITIES]
    return {
        name: _declared(settings, depth - 1)
        for name, settings in declared
        if len(name) <= _LONGEST_NAME and isinstance(settings, dict)
    }
