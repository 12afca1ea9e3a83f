"""The audit trail's entries: the caller, the action, the task and the outcome; never arguments, results or tokens.

One entry for each creation, end, poll, retrieval of a result, cancellation, refusal and command of an operator (T28).
Callers appear as hashes. `stepwire.aws.audit_log` writes the entries; it counts most polls instead of
writing each.
"""

from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from typing import TypeAlias

from msgspec import Struct

from stepwire.principal import Principal
from stepwire.tracing import Trace


class AuditAction(Enum):
    """What happened."""

    CREATED = "created"
    ENDED = "ended"
    RETRIED = "retried"
    """An attempt failed and another one follows; `outcome` says which."""
    FOLLOWED_UP = "followed_up"
    """An operator has redriven the execution of a task that had ended; `follow_up` is the new task."""
    EXPIRED = "expired"
    POLLED = "polled"
    """A client read the state of a task."""
    RETRIEVED = "retrieved"
    CANCELLED = "cancelled"
    ANSWERED = "answered"
    """A question was answered where the host shows the task; `outcome` is the person's action."""
    ASKED = "asked"
    """A question to others than the caller was asked."""
    SEEN = "seen"
    """An approver was shown a question; `approver` says who, `way` how."""
    APPROVED = "approved"
    """An approver has approved; `approver` says who, `way` how."""
    DECLINED = "declined"
    """An approver has refused, which decides the question; `approver` says who, `way` how."""
    UNDECIDED = "undecided"
    """A question to others was closed without a decision: `outcome` is `expired`, or `withdrawn` by the workflow."""
    REFUSED = "refused"
    BLOCKED = "blocked"
    """An operator has blocked the caller; `operator` says who, `outcome` why, if they gave a reason."""
    UNBLOCKED = "unblocked"
    ERASED = "erased"
    """An operator has erased a part of what was held of the caller; `outcome` says how much, `operator` who."""
    UNSHAPED = "unshaped"
    """The output of a workflow could not be given the form that its tool's manifest says; `outcome` says why."""
    PRIMED = "primed"
    """A response began without its end, so the client must resume it."""
    RESUMED = "resumed"
    """A client resumed such a response for the first time."""


class EndSource(Enum):
    """How Stepwire learned that an execution has ended."""

    EVENT = "event"
    """From the status event of Step Functions."""
    CHECK = "look"
    """From a check of Step Functions: the event was late, or lost."""


class AuditEntry(Struct, frozen=True):
    """One action on one task."""

    action: AuditAction
    owner: Principal
    tool: str | None = None
    task_id: str | None = None
    outcome: str | None = None
    """How a task ended, or why a request was refused: a status, or the name of an error; of a block, its reason."""
    duration: timedelta | None = None
    """From the creation of the task to its end."""
    source: EndSource | None = None
    """Of an end; None where the task ended before its execution did, for example by a cancel."""
    client: str | None = None
    """The name and version that a client gave itself; set for PRIMED and RESUMED."""
    follow_up: str | None = None
    """Of FOLLOWED_UP: the id of the task that was made."""
    operator: str | None = None
    """Who gave the command, as the command says; None: nobody did, or AWS did not say."""
    winner: str | None = None
    """Of the end of a race that was won: the name of the arm whose result it has."""
    approver: str | None = None
    """Of SEEN, APPROVED and DECLINED: the digest that stands for the person, or for the link that was used."""
    way: str | None = None
    """The same: how they answered (`tasks.answers.Given`)."""
    trace: Trace | None = None
    """Of the call that made the task."""
    polls: int = 1
    """The polls that an entry of POLLED stands for."""


Audit: TypeAlias = Callable[[AuditEntry], None]


def no_audit(_entry: AuditEntry) -> None:
    """Discard the entry; the default where no audit trail is configured."""
