"""What people other than the caller do with questions: find those that they may decide, and decide them.

The rule: an approver sees the question, who asks, and the arguments that the manifest says; nothing else of the task. A
question that is not there and one that somebody may not decide look the same. Whoever decides, by a tool, a card, a
page or the console, comes through `vote`: the approver is checked against the question as it is now, and the first
decision wins any race, because the vote is saved under the task's version.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from enum import Enum
from itertools import chain, zip_longest
from typing import Final

from msgspec import Struct

from stepwire.audit import AuditAction
from stepwire.codec import encode
from stepwire.engine.dialogue import WrongAnswer, read_answer, size_of_undelivered
from stepwire.engine.ports import Inbox, QuestionKey
from stepwire.engine.recorder import Recorder
from stepwire.engine.upkeep import Upkeep
from stepwire.errors import UnknownApproval
from stepwire.json_text import Json, JsonObject, as_object, load_json
from stepwire.tasks.approvals import Approval, Approver, Decision, Vote, VoteWay, digest_of
from stepwire.tasks.events import Voted
from stepwire.tasks.inputs import Action, InputRequest
from stepwire.tasks.task import Task

MOST_FOUND: Final = 1_000
"""Entries of the inbox that are looked at for one approver."""
MOST_READ: Final = 300
"""Questions of them that are read, with their tasks."""
MOST_LISTED: Final = 100
"""Questions that an approver gets."""
LARGEST_VOTES: Final = 90_000
"""Bytes of votes on open questions and of undelivered answers of one task. All votes on one question fit."""


class OpenQuestion(Struct, frozen=True):
    """A question that an approver may decide."""

    task: Task
    request: InputRequest
    approval: Approval

    @property
    def key(self) -> QuestionKey:
        """What names it."""
        return QuestionKey(self.task.key, self.request.number)

    @property
    def expires_at(self) -> datetime:
        """From when on nobody can decide it."""
        return min(self.request.expires_at or self.task.expires_at, self.task.expires_at)


class HasVoted(Struct, frozen=True):
    """An open question that an approver has decided as far as it is up to them."""

    question: OpenQuestion
    vote: Vote
    """Theirs."""


class Outcome(Enum):
    """What came of a vote."""

    DECIDED = "decided"
    """It was the last that was needed."""
    COUNTED = "counted"
    """More people must approve."""


class Voting(Struct, frozen=True):
    """A question after a vote."""

    outcome: Outcome
    question: OpenQuestion
    """As it was before."""
    decision: Decision | None = None
    """What was decided; None: more people must approve."""


class Approvals(Struct, frozen=True):
    """Finds and decides questions for approvers."""

    recorder: Recorder
    upkeep: Upkeep
    inbox: Inbox
    report: Callable[[Exception], None]

    def open_for(self, approver: Approver) -> tuple[OpenQuestion, ...]:
        """Return the oldest questions that an approver may decide and has not, those of each caller in turn."""
        found = self.inbox.find([digest_of(one) for one in approver.qualities], MOST_FOUND)
        left, listed = _in_turn(found)[:MOST_READ], list[OpenQuestion]()
        while left and len(listed) < MOST_LISTED:
            some, left = left[:MOST_LISTED], left[MOST_LISTED:]
            tasks = self.recorder.load_all([one.task for one in some])
            may_be_open = (self._open(tasks.get(one.task), one.number, approver) for one in some)
            listed += [one for one in may_be_open if one is not None]
        return tuple(listed[:MOST_LISTED])

    def require(self, key: QuestionKey, approver: Approver) -> OpenQuestion:
        """Return an open question that an approver may decide and has not.

        Raises:
            UnknownApproval: there is none; it may have been decided.
        """
        found = self._open(self.recorder.load(key.task), key.number, approver)
        if found is None:
            raise UnknownApproval
        return found

    def seen(self, question: OpenQuestion, approver: Approver, way: VoteWay) -> None:
        """Write to the audit trail that an approver was shown a question."""
        self.recorder.note_approver(AuditAction.SEEN, question.task, approver, way)

    def standing(self, key: QuestionKey, approver: Approver) -> OpenQuestion | HasVoted | Decision | None:
        """Return how a question stands for an approver, who may decide it or has done so.

        A decision is returned whoever asks: without the name of somebody else, it may be shown to who had the link.
        None: there is no such question, it has closed undecided, or they may not decide it.
        """
        task = self.recorder.load(key.task)
        decision = None if task is None else _decision_in(task, key.number)
        question = None if decision else self._asked(task, key.number, approver)
        if question is None:
            return decision
        vote = next((one for one in question.approval.votes if one.by == approver.person), None)
        return HasVoted(question, vote) if vote else question

    def decision_of(self, key: QuestionKey) -> Decision | None:
        """Return what was decided of a question; None if it is open, has expired, or is long past."""
        task = self.recorder.load(key.task)
        return None if task is None else _decision_in(task, key.number)

    def shown_arguments(self, question: OpenQuestion) -> JsonObject:
        """Return the arguments of the call that the manifest lets approvers see."""
        names = question.approval.policy.shown_arguments
        if not names:
            return {}
        given = as_object(load_json(self.recorder.store.parts.terms_of(question.task).input))
        return {name: given[name] for name in names if name in given}

    def vote(self, key: QuestionKey, approver: Approver, answer: Json, way: VoteWay) -> Voting | WrongAnswer:
        """Record the decision of a person, and deliver it if it is the last that is needed.

        Args:
            key: the question.
            approver: who decides.
            answer: {"action": "accept" | "decline", "content"?: {...}}, as an elicitation is answered.
            way: how.

        Raises:
            UnknownApproval: there is no such question that the approver may decide; it may have been decided.
        """
        question = self.require(key, approver)
        response = read_answer(question.request, answer)
        if isinstance(response, WrongAnswer):
            return response
        if response.action is Action.CANCEL:
            return WrongAnswer("closing the question decides nothing: approve or refuse it")
        vote = Vote(
            approver.person,
            approver.name,
            is_approval=response.action is Action.ACCEPT,
            at=self.recorder.clock.now(),
            way=way,
            content=response.content,
        )
        if not question.approval.counts(vote):
            return WrongAnswer("others have approved it in another way, by link or sign-in: approve it in the same way")
        if not _has_room(question.task, vote):
            return WrongAnswer(f"with the answers before, it is larger than {LARGEST_VOTES} bytes: write less")
        return self._recorded(question, approver, vote)

    def _recorded(self, question: OpenQuestion, approver: Approver, vote: Vote) -> Voting:
        number = question.request.number
        advanced = self.recorder.advanced(question.task, Voted(number, vote))
        if advanced is None:
            raise UnknownApproval  # its task has gone
        after, decision = advanced.task, _decision_in(advanced.task, number)
        counted = _votes_in(after, number) if decision is None else decision.votes
        if not any(one.by == vote.by and one.at == vote.at for one in counted):
            raise UnknownApproval  # somebody else was faster
        action = AuditAction.APPROVED if vote.is_approval else AuditAction.DECLINED
        self.recorder.note_approver(action, after, approver, vote.way)
        if decision is None:
            return Voting(Outcome.COUNTED, question)
        try:
            self.upkeep.after_delivery(self.upkeep.runs.perform(advanced) if advanced.effects else after)
        except Exception as fault:  # noqa: BLE001 - it is recorded; readers and the sweep deliver it
            self.report(fault)
        return Voting(Outcome.DECIDED, question, decision)

    def _open(self, task: Task | None, number: int, approver: Approver) -> OpenQuestion | None:
        found = self._asked(task, number, approver)
        has_voted = found is not None and approver.person in {one.by for one in found.approval.votes}
        return None if has_voted else found

    def _asked(self, task: Task | None, number: int, approver: Approver) -> OpenQuestion | None:
        request = None if task is None else next((one for one in task.questions if one.number == number), None)
        if task is None or request is None or request.approval is None:
            return None
        may_decide = approver.may_decide(request.approval, task.asked_by, self.recorder.clock.now())
        return OpenQuestion(task, request, request.approval) if may_decide else None


def _votes_in(task: Task, number: int) -> Sequence[Vote]:
    return next((one.approval.votes for one in task.questions if one.number == number and one.approval), ())


def _decision_in(task: Task, number: int) -> Decision | None:
    return next((one for one in task.inputs.decisions if one.number == number), None)


def _in_turn(questions: Iterable[QuestionKey]) -> list[QuestionKey]:
    """Return questions so that callers take turns: one who asks much stands before nobody's first question."""
    by_caller = dict[str, list[QuestionKey]]()
    for one in questions:
        by_caller.setdefault(one.task.owner, []).append(one)
    return [one for one in chain.from_iterable(zip_longest(*by_caller.values())) if one is not None]


def _has_room(task: Task, vote: Vote) -> bool:
    """Tell whether the task can keep a vote beside the others; a refusal closes the question, and so needs none."""
    votes = [vote, *(one for asked in task.questions if asked.approval for one in asked.approval.votes)]
    kept = sum(len(encode(one).encode()) for one in votes) + sum(map(size_of_undelivered, task.inputs.undelivered))
    return kept <= LARGEST_VOTES or not vote.is_approval
