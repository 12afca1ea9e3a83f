"""The moves of people who decide others' questions, and of callers who try to decide their own."""

from dataclasses import replace
from typing import Final

from hypothesis import strategies as st

from stepwire.extras.approvals.inbox import QuestionKey, approval_id_of
from stepwire.extras.approvals.tools import APPROVAL_ANSWER
from stepwire.principal import Principal
from stepwire.tasks.ids import TaskId, TaskKey
from tests.extras.approvals.deciding import SCOPES, Cast, Others
from tests.model.handlers import Done, Outcome
from tests.model.moves import few, has_room, move
from tests.model.reference import Operation, Question
from tests.model.run import Form, Run
from tests.model.seen import error_of, is_missing, says_nothing
from tests.server.answers import Answer, Json
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, ModernClient, SignedIn

DECISION: Final = "decision"
people: Final = st.sampled_from(sorted(SCOPES))
votes: Final = st.sampled_from(["right", "right", "declines", "wrong", "closes"])


def questions_to_others(run: Run) -> list[Question]:
    """Return the questions that others than their callers decide or have decided, the newest last."""
    return [one for one in run.reference.questions.values() if one.others is not None and one.others.number is not None]


def can_ask(run: Run) -> bool:
    """Tell whether somebody may look at a question to others."""
    return has_room(run) and bool(questions_to_others(run))


class ApproverMoves(Run):
    """The moves of approvers."""

    def __init__(self) -> None:
        super().__init__()
        self.people = {
            person: ModernClient(SignedIn(self.stack, frozenset({scope})), person, ASKING_CAPABILITY)
            for person, scope in SCOPES.items()
        }

    @move(4, can_ask, person=people, which=few)
    def open_form(self, person: Principal, which: int) -> None:
        """Have somebody's client ask them about a question, whether or not they may decide it."""
        self.step("open form")
        found = questions_to_others(self)
        self._answer(Form(person, found[-1 - which % len(found)]), {})

    @move(10, lambda run: has_room(run) and run.forms, which=few, how=votes)
    def vote(self, which: int, how: str) -> None:
        """Send a form, possibly again."""
        self.step("vote")
        self._vote(self.forms[-1 - which % len(self.forms)], how)

    def _vote(self, form: Form, how: str) -> None:
        value = self._value_of(form, how)
        if how in ("right", "declines"):
            others_of(form.question).casts.append(Cast(self.people[form.person].owner, value, self.reference.now))
        more: Json = {"inputResponses": {DECISION: value}, "requestState": form.state}
        self._answer(form, more)

    def _value_of(self, form: Form, how: str) -> Json:
        note = f"{form.question.token} {self.reference.step:05}"
        right: Json = {"action": "accept", "content": {"amount": 7, "note": note}}
        wrong: Json = {"action": "accept", "content": {"amount": 0}}
        return {"wrong": wrong, "declines": {"action": "decline"}, "closes": {"action": "cancel"}}.get(how, right)

    def _answer(self, form: Form, more: Json) -> None:
        question, who = form.question, self.people[form.person]
        operation = Operation(self.reference.step, self.reference.now, who.owner, question.task_id)
        others = others_of(question)
        key = QuestionKey(TaskKey(others.asked_by, TaskId(question.task_id)), others.number or 0)
        arguments = {"approval_id": approval_id_of(key)}

        def ended(outcome: Outcome) -> None:
            if isinstance(outcome, Done) and not says_nothing(outcome.value):
                self._judge(form, operation, outcome.value)

        request = f"{'vote of' if more else 'form for'} {form.person[:4]} on {question.token}"
        self.begin(request, lambda: who.call(APPROVAL_ANSWER, arguments, more=more), ended)

    def _judge(self, form: Form, operation: Operation, answer: Answer) -> None:
        question, others, now = form.question, others_of(form.question), self.reference.now
        known = self.reference.tasks[question.task_id]
        is_there = known.expires_early is not None and self.reference.is_there(question.task_id)
        if error_of(answer):  # the form expires with its question, or with the task
            assert not is_there or (others.until is not None and others.until <= now), answer.error
            return
        result = answer.result
        if result["resultType"] == "input_required":
            over = question.over
            assert over is None or over >= operation.number, "a question outlives its execution"
            others.shows(operation.owner, operation.number, operation.began_at, now)
            self.forms.append(replace(form, state=result["requestState"]))
            return
        read = result.get("structuredContent", {})
        if "vote" in read:
            self.counted[f"voted {read['outcome']}"] += 1
            told = read["vote"], read["outcome"]
            others.tells(operation.owner, told, operation.number, self.reference.step, now)
        elif "closed without an answer" not in result["content"][0]["text"]:
            self.counted["shown nothing"] += 1
            is_open = self.reference.is_open(question, operation.number)
            others.hides(operation.owner, operation.number, is_open=is_open, is_there=is_there)

    @move(1, can_ask, which=few, number=st.booleans())
    def meddle(self, which: int, number: bool) -> None:
        """Let a caller answer what others decide, as one answers a question to the caller: nothing comes of it."""
        self.step("meddle")
        found = questions_to_others(self)
        question = found[-1 - which % len(found)]
        caller = ModernClient(self.stack, others_of(question).asked_by, {**TASKS_CAPABILITY, **ASKING_CAPABILITY})
        responses: Json = {"approval": {"action": "accept", "content": {"amount": 1}}}
        if number:
            responses = {f"approval-{others_of(question).number}": responses["approval"]}

        def ended(outcome: Outcome) -> None:
            if isinstance(outcome, Done) and not says_nothing(outcome.value):
                assert is_missing(outcome.value) or not error_of(outcome.value), outcome.value.error

        self.begin(f"meddle with {question.token}", lambda: caller.update(question.task_id, responses), ended)


def others_of(question: Question) -> Others:
    """Return those who decide a question."""
    assert question.others is not None
    return question.others
