"""The requestState of a modern `tools/call`: a call that waits for its confirmation, or a running task (MRTR).

A continuation is valid for one caller, one tool, the same arguments and a limited time. A confirmed call gets the task
id that its continuation holds, and a task id is created only once. So presenting a continuation again starts nothing
new, and the server stores no continuation.
"""

import hashlib
import json
from datetime import datetime
from enum import Enum
from typing import Final

from msgspec import Struct

from stepwire.errors import InvalidRequestState
from stepwire.json_text import JsonObject, equal_form
from stepwire.principal import Principal
from stepwire.protocol.request_state import seal, unseal

NO_PROGRESS_SENT: Final = -1.0  # progress begins at 0


class Kind(Enum):
    """What the next call with this requestState continues."""

    CONFIRM = "confirm"
    """A call that waits for its confirmation; its task, which does not exist yet, will get the task id."""
    FOLLOW = "follow"
    """A task that exists."""


class Subject(Struct, frozen=True):
    """The call that a continuation is valid for."""

    owner: Principal
    tool: str
    arguments: JsonObject


class Continuation(Struct, frozen=True):
    """The state of a call between two of its requests."""

    kind: Kind
    task_id: str
    rounds: int = 0
    """How many rounds of the call have ended without its result."""
    progress_sent: float = NO_PROGRESS_SENT
    """The last progress that was sent to the client."""
    is_repeat: bool = False
    """Whether the call started nothing, because another call began its task."""


def issue(continuation: Continuation, subject: Subject, until: datetime, secret: bytes) -> str:
    """Return a continuation as a signed requestState."""
    payload = {
        "kind": continuation.kind.value,
        "task": continuation.task_id,
        "rounds": continuation.rounds,
        "told": continuation.progress_sent,
        "repeated": continuation.is_repeat,
        "until": round(until.timestamp() * 1000),
        **_bindings(subject),
    }
    return seal(payload, secret)


def redeem(state: str, subject: Subject, at: datetime, secret: bytes) -> Continuation:
    """Return the continuation that a requestState holds.

    Raises:
        InvalidRequestState: it was tampered with, belongs to another call or caller, has expired, or was issued by
            another version of this server.
    """
    payload = unseal(state, secret)
    if any(payload.get(name) != value for name, value in _bindings(subject).items()):
        raise InvalidRequestState(
            "The requestState belongs to another call: repeat the same tool with the same arguments."
        )
    match payload:
        case {
            "kind": "confirm" | "follow" as kind,
            "task": str(task),
            "rounds": int(rounds),
            "until": int(until),
            "told": int() | float() as progress_sent,
            "repeated": bool(is_repeat),
        }:
            if until <= at.timestamp() * 1000:
                raise InvalidRequestState("The requestState has expired: call the tool again without it.")
            return Continuation(Kind(kind), task, rounds, progress_sent, is_repeat)
        case _:
            raise InvalidRequestState("The requestState cannot be read: call the tool again without it.")


def _bindings(subject: Subject) -> JsonObject:
    # Sorted: a client may order the members of an object differently when it calls again.
    text = json.dumps(equal_form(subject.arguments), sort_keys=True, separators=(",", ":"))
    digest = hashlib.blake2b(text.encode(), digest_size=16, person=b"stepwire").hexdigest()
    return {"owner": subject.owner, "tool": subject.tool, "arguments": digest}
