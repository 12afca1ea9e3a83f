"""Who hears of questions to others (`approval.requested`): those of the audience, as their last sign-in said.

The rule: a change of a question goes to the records of those who may decide it, and into nobody else's; it is checked
against the whole audience, and not only where they were found. Whoever has lost a group hears of its questions until
the time for which they had asked is over, at the latest; and no more once they ask anew.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final, Protocol

from msgspec import Struct

from stepwire.changes import MOMENT, CallerEvent
from stepwire.extras.approvals.changes import OPEN, ApprovalChange
from stepwire.extras.approvals.inbox import approval_id_of
from stepwire.extras.approvals.rules import Approver, People, digest_of
from stepwire.json_text import JsonObject
from stepwire.principal import Principal
from stepwire.rendering import timestamp

REQUESTED: Final = "approval.requested"
_DATA: Final[JsonObject] = {
    "approvalId": {"type": "string", "description": "Names the question; have it decided with approval_answer."},
    "tool": {"type": "string", "description": "Whose workflow asks."},
    "question": {"type": "string", "description": "Key of the question, as the workflow's author has named it."},
    "happened": {"type": "string", "description": "asked, reminded, or escalated to the second audience."},
    "audience": {"type": "string", "description": "What those are called who may decide it."},
    "approvals": {"type": "integer", "description": "How many people must approve."},
    "askedAt": MOMENT,
    "expiresAt": MOMENT,
}
SHOWN: Final[JsonObject] = {
    "description": "A question to others than the caller waits for a decision that you may make.",
    "inputSchema": {
        "type": "object",
        "properties": {"tool": {"type": "string", "description": "Only questions of this tool's work."}},
        "additionalProperties": False,
    },
    "payloadSchema": {"type": "object", "properties": _DATA, "required": list(_DATA)},
}
"""The type of events, as `events/list` shows it."""
MOST_FOUND: Final = 100
"""Of those who hear of questions for people with one quality."""
MOST_DIGESTS: Final = 50
"""Of one sign-in; those that the catalog names come first."""


class Subscriber(Struct, frozen=True):
    """A caller who may decide questions of others' tasks, and hears of them."""

    owner: Principal
    person: str
    """The digest that stands for the person."""
    digests: frozenset[str]
    """Of the qualities that their sign-in has shown."""
    until: datetime


class Subscribers(Protocol):
    """Who hears of questions to others, by the qualities that these must have."""

    def known(self, owner: Principal) -> Subscriber | None:
        """Return a caller, who may not hear of them any more; None if they never did."""
        ...

    def keep(self, subscriber: Subscriber) -> None:
        """Let a caller hear of them until a time, with these qualities and no others."""
        ...

    def find(self, digests: Iterable[str], at: datetime) -> Sequence[Subscriber]:
        """Return those who hear of questions for people with any of these, `MOST_FOUND` of each at most."""
        ...


def listen(
    subscribers: Subscribers,
    owner: Principal,
    approver: Approver,
    audiences: Iterable[People],
    needed: datetime,
    until: datetime,
) -> None:
    """Let a caller hear of the questions that they may decide; write nothing while they do so for long enough.

    `audiences`: those that the catalog names. `needed`: how long at least; `until`: how long, where something is
    written.
    """
    named = {digest for audience in audiences for digest in audience.digests}
    digests = sorted(map(digest_of, approver.qualities), key=lambda one: (one not in named, one))[:MOST_DIGESTS]
    known = subscribers.known(owner)
    is_same = known is not None and (known.person, known.digests) == (approver.person, frozenset(digests))
    if known is not None and is_same and known.until >= needed:
        return
    longest = max(until, known.until) if known is not None and is_same else until
    subscribers.keep(Subscriber(owner, approver.person, frozenset(digests), longest))


def requested_events(subscribers: Subscribers, changes: Iterable[ApprovalChange]) -> Iterator[CallerEvent]:
    """Yield what happened to open questions, once for each of those who may decide them and hear of them."""
    for change in changes:
        if change.happened in OPEN:
            for one in subscribers.find(change.approval.digests, change.at):
                if _may_decide(one, change):
                    yield _requested(one, change)


def _may_decide(one: Subscriber, change: ApprovalChange) -> bool:
    approval = change.approval
    if one.person == change.task.asked_by and not approval.policy.includes_caller:
        return False
    return any(audience.admits(one.digests) for audience in approval.audiences(change.at))


def _requested(one: Subscriber, change: ApprovalChange) -> CallerEvent:
    """Say nothing else of the task: its id, its times and its trace are its caller's."""
    approval_id, approval = approval_id_of(change.key), change.approval
    data: JsonObject = {
        "approvalId": approval_id,
        "tool": change.task.work.tool,
        "question": change.request.key,
        "happened": change.happened.value,
        "audience": approval.shown,
        "approvals": approval.policy.approvals,
        "askedAt": timestamp(approval.asked_at),
        "expiresAt": timestamp(change.expires_at),
    }
    return CallerEvent(one.owner, (REQUESTED,), f"{approval_id}-{change.task.version}", change.at, data)
