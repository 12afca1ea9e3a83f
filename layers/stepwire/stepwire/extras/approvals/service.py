"""What people other than the caller do with questions: find those that they may decide, and decide them.

The rule: an approver sees the question, who asks, and the arguments that the manifest says; nothing else of the task.
Once it is decided, they see the question, the answer, and who decided. A question that is not there and one that
somebody may not decide look the same. Whoever decides, by a tool, a card, a page or the console, comes through `vote`:
the approver is checked against the question as it is now, and the first decision wins any race, because the vote is
saved under the task's version. Voting is idempotent for a person: whoever has voted reads what they voted, as long as
the task keeps it.
"""

from collections.abc import Callable, Iterable
from itertools import chain, zip_longest
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from stepwire.audit import Audited
from stepwire.engine.answers import Answers, WrongAnswer, read_answer
from stepwire.engine.recorder import Recorder, entry_of
from stepwire.extras.approvals import NAME
from stepwire.extras.approvals.audit import APPROVED, DECLINED, SEEN
from stepwire.extras.approvals.inbox import Inbox, OpenQuestion, QuestionKey
from stepwire.extras.approvals.refusals import UnknownApproval
from stepwire.extras.approvals.rules import Approver, VoteWay, approval_of, digest_of, for_others
from stepwire.json_text import Json, JsonObject, as_object, load_json
from stepwire.tasks.answers import Action, Decision, Given
from stepwire.tasks.task import Task

MOST_FOUND: Final = 1_000
"""Entries of the inbox that are looked at for one approver."""
MOST_READ: Final = 300
"""Questions of them that are read, with their tasks."""
MOST_LISTED: Final = 100
"""Questions that an approver gets."""


class HasVoted(Struct, frozen=True):
    """An open question that an approver has decided as far as it is up to them."""

    question: OpenQuestion
    vote: Given
    """Theirs."""


class Waiting(Struct, frozen=True):
    """What waits for an approver."""

    questions: tuple[OpenQuestion, ...]
    is_all: bool
    """Whether certainly nothing else waits for them."""


Standing: TypeAlias = OpenQuestion | HasVoted | Decision
"""How a question stands for an approver."""


class Approvals(Struct, frozen=True):
    """Finds and decides questions for approvers."""

    recorder: Recorder
    answers: Answers
    inbox: Inbox
    report: Callable[[Exception], None]

    def open_for(self, approver: Approver) -> Waiting:
        """Return the oldest questions that an approver may decide and has not, those of each caller in turn."""
        found = self.inbox.find([digest_of(one) for one in approver.qualities], MOST_FOUND)
        left, listed = _in_turn(found.questions)[:MOST_READ], list[OpenQuestion]()
        while left and len(listed) < MOST_LISTED:
            some, left = left[:MOST_LISTED], left[MOST_LISTED:]
            tasks = self.recorder.load_all([one.task for one in some])
            may_be_open = (self._open(tasks.get(one.task), one.number, approver) for one in some)
            listed += [one for one in may_be_open if one is not None]
        is_all = found.is_all and len(found.questions) <= MOST_READ and not left and len(listed) <= MOST_LISTED
        return Waiting(tuple(listed[:MOST_LISTED]), is_all)

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
        self._note(SEEN, question.task, approver, way)

    def standing(self, key: QuestionKey, approver: Approver) -> Standing | None:
        """Return how a question stands for an approver, who may decide it or has done so.

        A decision is returned to anybody: whoever has the link may see it, but for the question, the answer and the
        names of others, which only those see who may decide such a question.
        None: there is no such question, it has closed undecided, or they may not decide it.
        """
        task = self.recorder.load(key.task)
        decision = None if task is None else _decision_in(task, key.number)
        if task is None or decision is None:
            return self._standing(task, key.number, approver)
        approval = None if decision.matter is None else approval_of(decision.matter.audience)
        may_see = approval is not None and approver.may_decide(approval, task.asked_by, self.recorder.clock.now())
        return decision if may_see else for_others(decision, approver.person)

    def shown_arguments(self, question: OpenQuestion) -> JsonObject:
        """Return the arguments of the call that the manifest lets approvers see."""
        names = question.approval.policy.shown_arguments
        if not names:
            return {}
        given = as_object(load_json(self.recorder.store.parts.terms_of(question.task).input))
        return {name: given[name] for name in names if name in given}

    def vote(
        self, key: QuestionKey, approver: Approver, answer: Json, way: VoteWay
    ) -> HasVoted | Decision | WrongAnswer:
        """Record the decision of a person, deliver it if it is the last that is needed, and return how it stands then.

        The answer is {"action": "accept" | "decline", "content"?: {...}}, as an elicitation is answered.

        Whoever has decided already, and sends it again because the answer was lost, gets what they have decided.

        Raises:
            UnknownApproval: there is no such question that the approver may decide; it may have been decided.
        """
        question = self.standing(key, approver)
        if not isinstance(question, OpenQuestion):
            return _voted(question, approver)
        response = read_answer(question.request, answer)
        if isinstance(response, WrongAnswer):
            return response
        if response.action is Action.CANCEL:
            return WrongAnswer("closing the question decides nothing: approve or refuse it")
        now, completed = self.recorder.clock.now(), question.approval.completed(response)
        given = Given(approver.person, now, completed, approver.name, way.value)
        if not question.request.audience.counts(given, question.request.answers):
            return WrongAnswer("others have approved it in another way, by link or sign-in: approve it in the same way")
        after = self.answers.take(question.task, {question.request.number: given}, NAME)
        if after is None:
            raise UnknownApproval  # its task has gone
        return after if isinstance(after, WrongAnswer) else self._recorded(after, question.key, approver, given)

    def _recorded(self, after: Task, key: QuestionKey, approver: Approver, given: Given) -> HasVoted | Decision:
        decision = _decision_in(after, key.number)
        standing = _voted(decision or self._standing(after, key.number, approver), approver)
        own = own_vote(standing, approver)
        if own is not None and own.at == given.at:  # else another request of theirs was faster
            action = APPROVED if given.agrees else DECLINED
            self._note(action, after, approver, VoteWay(given.way))
            if decision is not None:
                self.answers.upkeep.delivered(after)
        return standing

    def _note(self, action: Audited, task: Task, approver: Approver, way: VoteWay) -> None:
        self.recorder.audit(replace(entry_of(action, task), details={"approver": approver.person, "way": way.value}))

    def _open(self, task: Task | None, number: int, approver: Approver) -> OpenQuestion | None:
        found = self._standing(task, number, approver)
        return found if isinstance(found, OpenQuestion) else None

    def _standing(self, task: Task | None, number: int, approver: Approver) -> OpenQuestion | HasVoted | None:
        """Return how an undecided question stands for an approver; whoever has voted may read that for good."""
        request = None if task is None else next((one for one in task.questions if one.number == number), None)
        approval = None if request is None else approval_of(request.audience)
        if task is None or request is None or approval is None:
            return None
        question = OpenQuestion(task, request, approval)
        own = next((one for one in request.answers if one.by == approver.person), None)
        if own is not None:
            return HasVoted(question, own)
        return question if approver.may_decide(approval, task.asked_by, self.recorder.clock.now()) else None


def own_vote(standing: Standing | None, approver: Approver) -> Given | None:
    """Return what an approver has decided of a question."""
    match standing:
        case HasVoted(_, vote):
            return vote
        case Decision():
            return next((one for one in standing.answers if one.by == approver.person), None)
        case _:
            return None


def _voted(standing: Standing | None, approver: Approver) -> HasVoted | Decision:
    """Return how a question stands for somebody who has decided it.

    Raises:
        UnknownApproval: they have not.
    """
    if standing is None or isinstance(standing, OpenQuestion) or own_vote(standing, approver) is None:
        raise UnknownApproval
    return standing


def _decision_in(task: Task, number: int) -> Decision | None:
    return next((one for one in task.inputs.decisions if one.number == number), None)


def _in_turn(questions: Iterable[QuestionKey]) -> list[QuestionKey]:
    """Return questions so that callers take turns: one who asks much stands before nobody's first question."""
    by_caller = dict[str, list[QuestionKey]]()
    for one in questions:
        by_caller.setdefault(one.task.owner, []).append(one)
    return [one for one in chain.from_iterable(zip_longest(*by_caller.values())) if one is not None]
