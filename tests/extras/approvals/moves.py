"""For tests/model: the moves of people who decide others' questions, and of callers who try to decide their own."""

from dataclasses import dataclass, field, replace
from typing import Final

from hypothesis import strategies as st

from stepwire.extras.approvals import NAME
from stepwire.extras.approvals.inbox import QuestionKey, approval_id_of
from stepwire.extras.approvals.tools import APPROVAL_ANSWER
from stepwire.principal import Principal
from stepwire.tasks.ids import TaskId, TaskKey
from tests.extras.approvals.deciding import NEEDED, SCOPES, Cast, Others
from tests.model.handlers import Done, Outcome
from tests.model.machine import Machine
from tests.model.moves import few, has_room, has_room_for_two, move
from tests.model.reference import Operation, Question
from tests.model.run import Run
from tests.model.seen import error_of, is_missing, says_nothing
from tests.server.answers import Answer, Json
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, ModernClient, SignedIn

DECISION: Final = "decision"
_people: Final = st.sampled_from(sorted(SCOPES))
_votes: Final = st.sampled_from(["right", "right", "declines", "wrong", "closes"])


@dataclass(frozen=True)
class Form:
    """A question to others, as one of them is asked it."""

    person: Principal
    question: Question
    state: str = ""
    """What the answer must carry."""


@dataclass(frozen=True)
class Deciders:
    """Those who decide in a run."""

    clients: dict[Principal, ModernClient]
    forms: list[Form] = field(default_factory=list[Form])
    """What they have been asked, the newest last."""


def deciders_in(run: Run) -> Deciders:
    """Return those who decide in a run."""
    if NAME not in run.of_extras:
        endpoints = {person: SignedIn(run.stack, frozenset({scope})) for person, scope in SCOPES.items()}
        clients = {person: ModernClient(one, person, ASKING_CAPABILITY) for person, one in endpoints.items()}
        run.of_extras[NAME] = Deciders(clients)
    return run.of_extras[NAME]


def questions_to_others(run: Run) -> list[Question]:
    """Return the questions that others than their callers decide or have decided, the newest last."""
    return [one for one in run.reference.questions.values() if one.others is not None and one.others.number is not None]


def others_of(question: Question) -> Others:
    """Return those who decide a question."""
    assert isinstance(question.others, Others)
    return question.others


def can_ask(run: Run) -> bool:
    """Tell whether somebody may look at a question to others."""
    return has_room(run) and bool(questions_to_others(run))


@move(4, can_ask, person=_people, which=few)
def open_form(run: Run, person: Principal, which: int) -> None:
    """Have somebody's client ask them about a question, whether or not they may decide it."""
    run.step("open form")
    found = questions_to_others(run)
    _answer(run, Form(person, found[-1 - which % len(found)]), {})


@move(10, lambda run: has_room(run) and deciders_in(run).forms, which=few, how=_votes)
def vote(run: Run, which: int, how: str) -> None:
    """Send a form, possibly again."""
    run.step("vote")
    forms = deciders_in(run).forms
    _vote(run, forms[-1 - which % len(forms)], how)


def _vote(run: Run, form: Form, how: str) -> None:
    value = _value_of(run, form, how)
    if how in ("right", "declines"):
        others_of(form.question).casts.append(Cast(form.person, value, run.reference.now))
    more: Json = {"inputResponses": {DECISION: value}, "requestState": form.state}
    _answer(run, form, more)


def _value_of(run: Run, form: Form, how: str) -> Json:
    note = f"{form.question.token} {run.reference.step:05}"
    right: Json = {"action": "accept", "content": {"amount": 7, "note": note}}
    wrong: Json = {"action": "accept", "content": {"amount": 0}}
    return {"wrong": wrong, "declines": {"action": "decline"}, "closes": {"action": "cancel"}}.get(how, right)


def _answer(run: Run, form: Form, more: Json) -> None:
    question, who = form.question, deciders_in(run).clients[form.person]
    operation = Operation(run.reference.step, run.reference.now, form.person, question.task_id)
    others = others_of(question)
    key = QuestionKey(TaskKey(others.asked_by, TaskId(question.task_id)), others.number or 0)
    arguments = {"approval_id": approval_id_of(key)}

    def ended(outcome: Outcome) -> None:
        if isinstance(outcome, Done) and not says_nothing(outcome.value):
            _judge(run, form, operation, outcome.value)

    request = f"{'vote of' if more else 'form for'} {form.person[:4]} on {question.token}"
    run.begin(request, lambda: who.call(APPROVAL_ANSWER, arguments, more=more), ended)


def _judge(run: Run, form: Form, operation: Operation, answer: Answer) -> None:
    question, others, now = form.question, others_of(form.question), run.reference.now
    known = run.reference.tasks[question.task_id]
    is_there = known.expires_early is not None and run.reference.is_there(question.task_id)
    if error_of(answer):  # the form expires with its question, or with the task
        assert not is_there or (others.until is not None and others.until <= now), answer.error
        return
    result = answer.result
    if result["resultType"] == "input_required":
        over = question.over
        assert over is None or over >= operation.number, "a question outlives its execution"
        others.shows(operation.owner, operation.number, operation.began_at, now)
        deciders_in(run).forms.append(replace(form, state=result["requestState"]))
        return
    read = result.get("structuredContent", {})
    if "vote" in read:
        run.counted[f"voted {read['outcome']}"] += 1
        told = read["vote"], read["outcome"]
        others.tells(operation.owner, told, operation.number, run.reference.step, now)
    elif "closed without an answer" not in result["content"][0]["text"]:
        run.counted["shown nothing"] += 1
        is_open = run.reference.is_open(question, operation.number)
        others.hides(operation.owner, operation.number, is_open=is_open, is_there=is_there)


@move(1, can_ask, which=few, number=st.booleans())
def meddle(run: Run, which: int, number: bool) -> None:
    """Let a caller answer what others decide, as one answers a question to the caller: nothing comes of it."""
    run.step("meddle")
    found = questions_to_others(run)
    question = found[-1 - which % len(found)]
    caller = ModernClient(run.stack, others_of(question).asked_by, {**TASKS_CAPABILITY, **ASKING_CAPABILITY})
    responses: Json = {"approval": {"action": "accept", "content": {"amount": 1}}}
    if number:
        responses = {f"approval-{others_of(question).number}": responses["approval"]}

    def ended(outcome: Outcome) -> None:
        if isinstance(outcome, Done) and not says_nothing(outcome.value):
            assert is_missing(outcome.value) or not error_of(outcome.value), outcome.value.error

    run.begin(f"meddle with {question.token}", lambda: caller.update(question.task_id, responses), ended)


# Combinations of moves that random moves reach too rarely.


@move(4, has_room, tool=st.sampled_from(sorted(NEEDED)), limited=st.booleans(), person=_people)
def have_a_question_to_others(machine: Machine, tool: str, limited: bool, person: Principal) -> None:
    """Let a workflow ask others than its caller, and have one of them asked."""
    machine.undisturbed(lambda: machine.call("modern", tool, None, 0))
    if machine.world.running():
        machine.undisturbed(lambda: machine.ask(0, limited))
    if questions_to_others(machine):
        machine.undisturbed(lambda: open_form(machine, person, 0))


@move(4, lambda run: has_room_for_two(run) and deciders_in(run).forms, person=_people, how=_votes, other=_votes)
def vote_at_once(machine: Machine, person: Principal, how: str, other: str) -> None:
    """Let two people, or one by two clients, decide a question at the same time."""
    machine.counted["vote at once"] += 1
    forms = deciders_in(machine).forms
    form = forms[-1]
    machine.undisturbed(lambda: _answer(machine, replace(form, person=person, state=""), {}))
    _vote(machine, forms[-1], how)
    _vote(machine, form, other)
