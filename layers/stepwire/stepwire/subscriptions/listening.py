"""Who hears of questions to others (`approval.requested`): those of the audience, as their last sign-in said.

The rule: a change of a question goes to the records of those who may decide it, and into nobody else's; it is checked
against the whole audience, and not only where they were found. Whoever has lost a group hears of its questions until
the time for which they had asked is over, at the latest; and no more once they ask anew.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from stepwire.principal import Principal
from stepwire.rendering import approval_id_of
from stepwire.subscriptions.approvals import OPEN, ApprovalChange
from stepwire.subscriptions.events import Change, OwnedChange, Requested
from stepwire.subscriptions.ports import Subscriber, Subscribers
from stepwire.tasks.approvals import Approver, Audience, digest_of
from stepwire.tasks.ids import TaskId

MOST_DIGESTS: Final = 50
"""Of one sign-in; those that the catalog names come first."""


def listen(
    subscribers: Subscribers,
    owner: Principal,
    approver: Approver,
    audiences: Iterable[Audience],
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


def told(subscribers: Subscribers, changes: Iterable[ApprovalChange], at: datetime) -> Iterator[OwnedChange]:
    """Yield what happened to open questions, once for each of those who may decide them and hear of them."""
    for change in changes:
        if change.happened in OPEN:
            for one in subscribers.find(change.approval.digests, at):
                if _may_decide(one, change):
                    yield OwnedChange(one.owner, _requested(change))


def _may_decide(one: Subscriber, change: ApprovalChange) -> bool:
    approval = change.approval
    if one.person == change.task.asked_by and not approval.policy.includes_caller:
        return False
    return any(audience.admits(one.digests) for audience in approval.audiences(change.at))


def _requested(change: ApprovalChange) -> Change:
    approval_id = approval_id_of(change.task.key, change.request.number)
    happened, approval = change.happened.value, change.approval
    return Change(
        TaskId(""),
        change.task.work.tool,
        happened,
        happened,
        change.task.version,
        change.at,
        approval.asked_at,
        change.at,
        change.expires_at,
        requested=Requested(approval_id, change.request.key, happened, approval.shown, approval.policy.approvals),
    )
