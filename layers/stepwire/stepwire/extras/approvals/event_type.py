"""The event `approval.requested`: those who may decide a question hear of it."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from stepwire.changes import CallerEvent, ChangeServices, TaskChange
from stepwire.extras.approvals import approver_in, audiences_in, subscribers_of
from stepwire.extras.approvals.changes import approval_changes
from stepwire.extras.approvals.listening import REQUESTED, SHOWN, listen, requested_events
from stepwire.hooks import EventType
from stepwire.server.call import Call
from stepwire.server.services import Services


def _events(services: ChangeServices, change: TaskChange) -> Iterator[CallerEvent]:
    return requested_events(services.of(subscribers_of), approval_changes(change))


def _is_for(services: Services, call: Call) -> bool:
    return approver_in(services, call) is not None


def _listen(services: Services, call: Call, needed: timedelta, longest: timedelta) -> None:
    """Let a caller hear of the questions that they may decide, if they want to: most polls write nothing."""
    approver = approver_in(services, call)
    if approver is not None:
        owner, at = call.caller.principal, call.at
        subscribers, audiences = services.of(subscribers_of), audiences_in(services)
        listen(subscribers, owner, approver, audiences, at + needed, at + longest)


TYPES: Final = (EventType(REQUESTED, SHOWN, _events, _is_for, _listen),)
