"""The audit trail's entries: the caller, the action, the task and the outcome; never arguments, results or tokens.

One entry for each creation, end, poll, retrieval of a result, cancellation, refusal and command of an operator (T28).
Callers appear as hashes. `stepwire.aws.audit_log` writes the entries; it counts most polls instead of
writing each.
"""

from collections.abc import Callable, Mapping
from datetime import timedelta
from enum import Enum
from types import MappingProxyType
from typing import Final, TypeAlias

from msgspec import Struct

from stepwire.principal import Principal
from stepwire.tracing import Trace


class Audited(Struct, frozen=True):
    """What an entry says has happened. An extra has its own in its module `audit`."""

    word: str
    """The member `audit` of its lines."""
    metric: str | None
    """The metric that counts it; None: the outcome decides which (`stepwire.aws.audit_log.ENDS`)."""
    active_change: int = 0
    """By how much it changes the number of active tasks."""


class AuditAction:
    """What happens without any extra."""

    CREATED: Final = Audited("created", "Created", 1)
    ENDED: Final = Audited("ended", None, -1)
    RETRIED: Final = Audited("retried", "Retried")
    """An attempt failed and another one follows; `outcome` says which."""
    FOLLOWED_UP: Final = Audited("followed_up", "FollowedUp")
    """An operator has redriven the execution of a task that had ended; `follow_up` is the new task."""
    EXPIRED: Final = Audited("expired", "Expired", -1)
    POLLED: Final = Audited("polled", "Polls")
    """A client read the state of a task."""
    RETRIEVED: Final = Audited("retrieved", "Retrieved")
    CANCELLED: Final = Audited("cancelled", "CancelRequests")
    REFUSED: Final = Audited("refused", "Refused")
    UNSHAPED: Final = Audited("unshaped", "Unshaped")
    """The output of a workflow could not be given the form that its tool's manifest says; `outcome` says why."""
    PRIMED: Final = Audited("primed", "Primed")
    """A response began without its end, so the client must resume it."""
    RESUMED: Final = Audited("resumed", "Resumed")
    """A client resumed such a response for the first time."""


class EndSource(Enum):
    """How Stepwire learned that an execution has ended."""

    EVENT = "event"
    """From the status event of Step Functions."""
    CHECK = "look"
    """From a check of Step Functions: the event was late, or lost."""


class AuditEntry(Struct, frozen=True):
    """One action on one task."""

    action: Audited
    owner: Principal
    tool: str | None = None
    task_id: str | None = None
    outcome: str | None = None
    """How a task ended, or why a request was refused: a status, or the name of an error."""
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
    details: Mapping[str, str] = MappingProxyType({})
    """Further members of the line, which only an extra's actions have."""
    trace: Trace | None = None
    """Of the call that made the task."""
    polls: int = 1
    """The polls that an entry of POLLED stands for."""


Audit: TypeAlias = Callable[[AuditEntry], None]


def no_audit(_entry: AuditEntry) -> None:
    """Discard the entry; the default where no audit trail is configured."""
