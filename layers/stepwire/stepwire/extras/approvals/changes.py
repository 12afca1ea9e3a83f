"""What happened to the questions that others than the caller decide, seen from two states of a task.

It is read from the table's stream, so that it is recorded and told if and only if it was written.
"""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from msgspec import Struct

from stepwire.audit import Audit
from stepwire.changes import BusEvent, TaskChange
from stepwire.engine.recorder import entry_of
from stepwire.extras.approvals.audit import ASKED, UNDECIDED
from stepwire.extras.approvals.inbox import Inbox, InboxEntry, QuestionToOthers
from stepwire.extras.approvals.rules import Approval, approval_of, names_of
from stepwire.json_text import JsonObject
from stepwire.rendering import timestamp
from stepwire.tasks.answers import Decision
from stepwire.tasks.inputs import FormElicitation, InputRequest
from stepwire.tasks.task import Task

QUESTION_ASKED: Final = "Stepwire Question Asked"
QUESTION_CLOSED: Final = "Stepwire Question Closed"


class Happened(Enum):
    """What happened to a question."""

    ASKED = "asked"
    REMINDED = "reminded"
    """It is still open, and is announced again."""
    ESCALATED = "escalated"
    """It is still open, and its second audience may decide it too."""
    DECIDED = "decided"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    """The workflow does not wait for it any more."""


_SECOND: Final = timedelta(seconds=1)
"""The stream has the times of its records without fractions."""
OPEN: Final = frozenset({Happened.ASKED, Happened.REMINDED, Happened.ESCALATED})


class ApprovalChange(QuestionToOthers, frozen=True):
    """What happened to one question of a task: the task is as it is after it, a closed question as it was."""

    happened: Happened
    at: datetime
    decision: Decision | None = None
    """Of DECIDED."""

    @property
    def id(self) -> str:
        """The same for the same change."""
        return f"{self.task.task_id}-{self.task.version}-q{self.request.number}"

    @property
    def entry(self) -> InboxEntry:
        """Where approvers find it. A retried state may wait longer for it than it says now, but its task does not."""
        return InboxEntry(self.key, self.approval.digests, self.approval.asked_at, self.task.expires_at)

    def bus_event(self, links: Callable[[], list[JsonObject]]) -> BusEvent:
        """Return what other systems hear of it; of an open question, with the links by which it is decided."""
        if self.happened in OPEN:
            return BusEvent(QUESTION_ASKED, {**self.detail(), "links": links()})
        return BusEvent(QUESTION_CLOSED, self.detail())

    def detail(self) -> JsonObject:
        """Return it as Stepwire publishes it for other systems, without links.

        It has the question's text only if the manifest shows approvers arguments (`shown_arguments`): a subscriber need
        not be allowed to read the task.
        """
        approval, policy, asked = self.approval, self.approval.policy, self.request.asked
        is_shown = policy.shown_arguments is not None and isinstance(asked, FormElicitation)
        person = self.task.origin.person
        return {
            "event_id": self.id,
            "happened": self.happened.value,
            "task_id": self.task.task_id,
            "tool": self.task.work.tool,
            "question": self.request.key,
            "number": self.request.number,
            "audience": list(names_of(approval.audiences(self.at))),
            "approvals": policy.approvals,
            "approved": sum(one.agrees for one in (self.decision or self.request).answers),
            "asked_by": person.name if person else None,
            "asked_at": timestamp(approval.asked_at),
            "expires_at": timestamp(self.expires_at),
            **({"message": asked.message} if is_shown and isinstance(asked, FormElicitation) else {}),
            **({"decision": _decision(self.decision)} if self.decision else {}),
            **(self.task.origin.trace.context if self.task.origin.trace else {}),
        }


def approval_changes(change: TaskChange) -> Iterator[ApprovalChange]:
    """Yield what a change of a task is for its questions to others."""
    was, now = _approvals_of(change.before), _approvals_of(change.after)
    for number, (request, approval) in now.items():
        happened = _happened_to_open(was[number][1] if number in was else None, approval)
        if happened is not None:
            yield ApprovalChange(change.task, request, approval, happened, change.at)
    yield from (_closed(change.task, *one, change.at) for number, one in was.items() if number not in now)


class ApprovalRecording(Struct, frozen=True):
    """Keeps the inbox of approvers, and the audit trail of what happens to questions without an approver."""

    inbox: Inbox
    audit: Audit

    def record(self, change: ApprovalChange) -> None:
        """Record what happened to a question. Idempotent for the inbox; the audit trail has a line for each call."""
        match change.happened:
            case Happened.ASKED | Happened.ESCALATED:
                self.inbox.add(change.entry)
            case Happened.REMINDED:
                pass
            case Happened.DECIDED | Happened.EXPIRED | Happened.WITHDRAWN:
                self.inbox.remove(change.entry)
        if change.happened is Happened.ASKED:
            self.audit(entry_of(ASKED, change.task))
        elif change.happened in (Happened.EXPIRED, Happened.WITHDRAWN):
            self.audit(entry_of(UNDECIDED, change.task, change.happened.value))


def _approvals_of(task: Task | None) -> dict[int, tuple[InputRequest, Approval]]:
    questions = () if task is None else task.questions
    found = ((one, approval_of(one.audience)) for one in questions)
    return {one.number: (one, approval) for one, approval in found if approval is not None}


def _happened_to_open(was: Approval | None, now: Approval) -> Happened | None:
    if was is None:
        return Happened.ASKED
    if now.is_escalated and not was.is_escalated:
        return Happened.ESCALATED
    return Happened.REMINDED if now.reminders > was.reminders else None


def _closed(task: Task, request: InputRequest, approval: Approval, at: datetime) -> ApprovalChange:
    decision = next((one for one in task.inputs.decisions if one.number == request.number), None)
    is_over = (request.expires_at or task.expires_at) < at + _SECOND
    happened = Happened.DECIDED if decision else Happened.EXPIRED if is_over else Happened.WITHDRAWN
    return ApprovalChange(task, request, approval, happened, at, decision)


def _decision(decision: Decision) -> JsonObject:
    votes = [
        {"approved": one.agrees, "by": one.name, "at": timestamp(one.at), "way": one.way} for one in decision.answers
    ]
    return {"approved": decision.agrees, "by": votes}
