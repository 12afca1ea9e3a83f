"""What a modern `tools/call` goes on with: a call to be confirmed, or work that is under way (MRTR).

A continuation is good for one caller, one tool, the same arguments and a short time. A confirmed call gets the task id
that its continuation names, and a task id is created once: so a continuation that is presented twice starts nothing
twice, and nothing has to be remembered of it.
"""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final

from stepwire.errors import InvalidRequestState
from stepwire.json_text import JsonObject, equal_form
from stepwire.principal import Principal
from stepwire.protocol.request_state import seal, unseal

NOTHING_TOLD: Final = -1.0  # progress begins at 0


class Kind(Enum):
    """What is gone on with."""

    CONFIRM = "confirm"
    """A call that has not begun; the task id is the one that it will get."""
    FOLLOW = "follow"
    """A task that is under way."""


@dataclass(frozen=True)
class Subject:
    """What a continuation is good for."""

    owner: Principal
    tool: str
    arguments: JsonObject


@dataclass(frozen=True)
class Continuation:
    """Where a call goes on."""

    kind: Kind
    task_id: str
    rounds: int = 0
    """How often the client has come back to it."""
    told: float = NOTHING_TOLD
    """How much progress the client has been told of."""


def issue(continuation: Continuation, subject: Subject, until: datetime, secret: bytes) -> str:
    """Write a continuation as a requestState."""
    payload = {
        "kind": continuation.kind.value,
        "task": continuation.task_id,
        "rounds": continuation.rounds,
        "told": continuation.told,
        "until": round(until.timestamp() * 1000),
        **_bindings(subject),
    }
    return seal(payload, secret)


def redeem(state: str, subject: Subject, at: datetime, secret: bytes) -> Continuation:
    """Read a requestState.

    Raises:
        InvalidRequestState: it was tampered with, belongs to another call or caller, is too old, or was issued by a
            version of this server that knows more.
    """
    payload = unseal(state, secret)
    if any(payload.get(name) != value for name, value in _bindings(subject).items()):
        raise InvalidRequestState(
            "The requestState belongs to another call: repeat the tool and its arguments as they were."
        )
    match {"told": NOTHING_TOLD, **payload}:  # one that an earlier version issued says nothing of progress
        case {
            "kind": "confirm" | "follow" as kind,
            "task": str(task),
            "rounds": int(rounds),
            "until": int(until),
            "told": int() | float() as told,
        }:
            if until <= at.timestamp() * 1000:
                raise InvalidRequestState("The requestState has expired: call the tool again without it.")
            return Continuation(Kind(kind), task, rounds, told)
        case _:
            raise InvalidRequestState("The requestState is not understood: call the tool again without it.")


def _bindings(subject: Subject) -> JsonObject:
    # Sorted: a client may write the members of an object in another order when it calls again.
    text = json.dumps(equal_form(subject.arguments), sort_keys=True, separators=(",", ":"))
    digest = hashlib.blake2b(text.encode(), digest_size=16, person=b"stepwire").hexdigest()
    return {"owner": subject.owner, "tool": subject.tool, "arguments": digest}
