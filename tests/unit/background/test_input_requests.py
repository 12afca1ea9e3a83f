"""Questions of workflows reach their tasks, or fail their states with an error name that a Catch can match."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from stepwire.aws.workflow_events import question_of
from stepwire.background.input_requests import LARGEST_OPEN, MOST_GENERATIONS, Question
from stepwire.engine.answers import WrongAnswer
from stepwire.errors import ForeignQuestion, WorkflowsUnavailable
from stepwire.json_text import Json, JsonObject, write
from stepwire.tasks.inputs import MOST_QUESTIONS, Callback, FormElicitation, InputRequest, Mode, UrlElicitation
from stepwire.tasks.task import Execution, InputRequired, Task, Working
from tests.fake_workflows import Resumption
from tests.fakes import START_OF_TIME
from tests.kits import ALICE, BOTH_MODES, FORM, OPTIONAL, URL, World, plan_of, state_machine_arn
from tests.recorded import recorded

NOT_SUPPORTED = "Stepwire.InputNotSupported"
INVALID = "Stepwire.InvalidInputRequest"


def large_form(size: int) -> JsonObject:
    """Return a form whose params have this many bytes."""
    params: JsonObject = {"mode": "form", "message": "", "requestedSchema": {"type": "object", "properties": {}}}
    field = {"type": "string", "description": ""}
    params = {**params, "message": "m", "requestedSchema": {"type": "object", "properties": {"a": field}}}
    field["description"] = "x" * (size - len(write(params)))
    return params


def failure_of_the_only_state(world: World) -> tuple[str | None, str | None]:
    """Return the error and the cause with which the only waiting state failed."""
    (resumption,) = world.workflows.resumptions
    assert resumption.output is None
    return resumption.error, resumption.cause


class TestAQuestion:
    def test_is_recorded_when_the_function_returns(self) -> None:
        world = World()
        task = world.call()

        token = world.ask(task.task_id, "approval")

        form = FormElicitation(FORM["message"], write(FORM["requestedSchema"]))
        assert world.stored(task).input_requests == (InputRequest("approval", 1, form, Callback(token)),)
        assert world.workflows.waiting == {token}

    def test_may_be_a_url_question(self) -> None:
        world = World()
        task = world.call()

        world.ask(task.task_id, "signature", URL)

        (request,) = world.stored(task).input_requests
        assert request.asked == UrlElicitation(URL["message"], URL["url"])

    def test_costs_one_read_and_one_write(self) -> None:
        world = World()
        task = world.call()
        world.store.calls.clear()

        world.ask(task.task_id)

        assert world.store.calls == ["load", "save"]

    def test_may_be_one_of_several(self) -> None:
        """K9: Parallel, Map."""
        world = World()
        task = world.call()

        for number in range(3):
            world.ask(task.task_id, "approval", token=f"token {number}")

        keys = [request.key for request in world.stored(task).input_requests]
        assert keys == ["approval", "approval-2", "approval-3"]

    def test_asked_twice_concurrently_is_one_question(self) -> None:
        """Lambda may run the function twice for one state."""
        world = World()
        task = world.call()
        world.store.before_save = lambda: world.ask(task.task_id, token="the same")

        world.ask(task.task_id, token="the same")

        assert len(world.stored(task).input_requests) == 1
        assert world.workflows.waiting == {"the same"}

    def test_and_a_concurrent_one_are_both_asked(self) -> None:
        world = World()
        task = world.call()
        world.store.before_save = lambda: world.ask(task.task_id, "one")

        world.ask(task.task_id, "other")

        assert [request.key for request in world.stored(task).input_requests] == ["one", "other"]

    @pytest.mark.parametrize("key", ["a", "A.b_c-9", "x" * 64])
    def test_has_a_key_of_simple_characters(self, key: str) -> None:
        world = World()
        task = world.call()

        world.ask(task.task_id, key)

        assert [request.key for request in world.stored(task).input_requests] == [key]

    def test_is_open_as_long_as_its_state_waits(self) -> None:
        world = World()
        task = world.call()

        world.ask(task.task_id, seconds=90)

        (request,) = world.stored(task).input_requests
        assert request.expires_at == START_OF_TIME + timedelta(seconds=90)
        world.clock.advance(seconds=89.999)
        assert isinstance(world.operations.get(ALICE, task.task_id).status, InputRequired)
        world.clock.advance(seconds=0.001)
        assert world.operations.get(ALICE, task.task_id).status == Working()

    def test_raises_if_it_can_be_neither_recorded_nor_refused(self) -> None:
        world = World()
        task = world.call(modes=frozenset())
        world.workflows.is_available = False

        with pytest.raises(WorkflowsUnavailable):
            world.ask(task.task_id)


class TestNobodyCanAnswer:
    @pytest.mark.parametrize(
        ("modes", "elicitation", "mode"),
        [
            (frozenset[Mode](), FORM, "form"),
            (frozenset[Mode](), URL, "url"),
            (frozenset({Mode.URL}), FORM, "form"),
            (frozenset({Mode.FORM}), URL, "url"),
        ],
    )
    def test_because_the_client_has_not_declared_it(self, modes: Any, elicitation: Json, mode: str) -> None:
        """M46, T29."""
        world = World()
        task = world.call(modes=modes)

        world.ask(task.task_id, elicitation=elicitation)

        cause = f"The client that called the tool does not support elicitation in mode '{mode}'."
        assert failure_of_the_only_state(world) == (NOT_SUPPORTED, cause)
        assert world.stored(task) == task

    def test_because_the_task_has_ended(self) -> None:
        world = World()
        task = world.call()
        world.operations.cancel(ALICE, task.task_id)

        world.ask(task.task_id)

        assert failure_of_the_only_state(world) == (
            NOT_SUPPORTED,
            "The task has ended, so the question cannot be answered.",
        )

    @pytest.mark.parametrize("how", ["deleted", "expired", "somebody else's name", "another state machine", "no ARN"])
    def test_because_the_execution_belongs_to_no_task(self, how: str) -> None:
        """X28."""
        world = World()
        task = world.call()
        world.workflows.waiting.add("token")
        executions = {
            "somebody else's name": Execution(OPTIONAL.plan.runs[0].state_machine_arn, "nightly-import"),
            "another state machine": replace(task.execution, state_machine_arn=state_machine_arn("Other")),
            "no ARN": Execution("", "nonsense"),
        }
        if how == "deleted":
            world.store.delete(task)
        if how == "expired":
            world.clock.time = task.expires_at

        world.requests.record(Question(executions.get(how, task.execution), "token", "approval", FORM))

        error, cause = failure_of_the_only_state(world)
        assert error == NOT_SUPPORTED
        assert (cause or "").startswith(
            "The execution does not belong to a task, so the question cannot be shown to a client."
        )
        assert world.store.tasks.get(task.key) == (None if how == "deleted" else task)


class TestWhatCannotBeAsked:
    @pytest.mark.parametrize(
        "key", ["", "x" * 65, "a b", "a/b", "grüße", "a\n", None, 7, ["a"], {"a": 1}, "\ud800"], ids=repr
    )
    def test_has_an_invalid_key(self, key: Any) -> None:
        world = World()
        task = world.call()

        world.ask(task.task_id, key, token="token")

        error, cause = failure_of_the_only_state(world)
        assert error == INVALID
        assert cause == (
            "The input request cannot be asked: its key must be 1 to 64 of the characters A-Z a-z 0-9 _ . -."
        )
        assert world.stored(task) == task

    @pytest.mark.parametrize(
        ("elicitation", "place"),
        [
            (None, "exactly one of elicitation, sampling and roots"),
            ({"message": "m"}, "at the top level"),
            ({**FORM, "message": ""}, "at /message"),
            ({**URL, "url": "http://sign.example"}, "at /url"),
            ({**FORM, "message": "\ud800"}, "lone surrogate"),
        ],
    )
    def test_is_not_a_valid_elicitation(self, elicitation: Json, place: str) -> None:
        """M47."""
        world = World()
        task = world.call()

        world.ask(task.task_id, elicitation=elicitation)

        error, cause = failure_of_the_only_state(world)
        assert error == INVALID
        assert place in (cause or "")
        assert world.stored(task) == task

    def test_exceeds_the_number_of_questions_of_a_task(self) -> None:
        world = World()
        task = asked_often(world, MOST_QUESTIONS - 1)

        world.ask(task.task_id, "last")
        world.ask(task.task_id, "too-many")

        assert [one.key for one in world.stored(task).input_requests] == ["last"]
        assert failure_of_the_only_state(world) == (
            INVALID,
            "The task has asked 100 questions, the most that a task may ask.",
        )

    def test_is_too_large_together_with_what_is_open(self) -> None:
        world = World()
        task = world.call()
        for number in range(3):
            world.ask(task.task_id, f"large-{number}", large_form(16_000))

        world.ask(task.task_id, "too-large", large_form(16_000))

        cause = f"The open questions of the task would be larger than {LARGEST_OPEN} bytes of JSON together."
        assert failure_of_the_only_state(world) == (INVALID, cause)
        assert len(world.stored(task).input_requests) == 3

    def test_can_be_asked_when_others_have_been_answered(self) -> None:
        world = World()
        task = world.call()
        for number in range(3):
            world.ask(task.task_id, f"large-{number}", large_form(16_000))
        world.answers.respond(ALICE, task.task_id, {"large-0": {"action": "decline"}})

        world.ask(task.task_id, "no-more-too-large", large_form(16_000))

        assert len(world.stored(task).input_requests) == 3

    @pytest.mark.parametrize(("refusal", "error"), [("", None), ("x" * 1_000, INVALID)])
    def test_includes_the_size_of_earlier_refusals(self, refusal: str, error: str | None) -> None:
        world = World()
        task = world.call()
        for number in range(3):
            world.ask(task.task_id, f"large-{number}", large_form(16_000))
        world.answers.ask_again(world.stored(task), {"large-0": WrongAnswer(refusal)})

        world.ask(task.task_id, "small", large_form(1_000))

        assert [one.error for one in world.workflows.resumptions] == ([error] if error else [])


class TestAskedAgainWithTheSameToken:
    """Lambda may run the function twice for one state, the second time long after the first."""

    def test_changes_nothing_at_the_limit_of_questions(self) -> None:
        world = World()
        task = asked_often(world, MOST_QUESTIONS - 1)
        token = world.ask(task.task_id, "last")
        before = world.stored(task)

        world.ask(task.task_id, "last", token=token)

        assert world.stored(task) == before
        assert world.workflows.waiting == {token}

    def test_changes_nothing_even_if_there_is_no_space_for_a_second(self) -> None:
        world = World()
        task = world.call()
        for number in range(3):
            world.ask(task.task_id, f"large-{number}", large_form(16_000))
        before = world.stored(task)

        world.ask(task.task_id, "large-2", large_form(16_000))

        assert world.stored(task) == before
        assert world.workflows.resumptions == []

    def test_changes_nothing_while_the_answer_is_undelivered(self) -> None:
        world = World()
        task = asked_often(world, MOST_QUESTIONS - 1)
        token = world.ask(task.task_id, "last")
        world.workflows.is_available = False
        world.answers.respond(ALICE, task.task_id, {"last": {"action": "decline"}})
        world.workflows.is_available = True

        world.ask(task.task_id, "last", token=token)
        world.operations.get(ALICE, task.task_id)

        assert world.workflows.resumptions[-1] == Resumption(token, output='{"action":"decline"}')


def asked_often(world: World, times: int) -> Task:
    """Return a task that has asked this many questions and got the answers."""
    task = world.call(modes=BOTH_MODES)
    for number in range(times):
        world.ask(task.task_id, f"question-{number}")
        world.answers.respond(ALICE, task.task_id, {f"question-{number}": {"action": "cancel"}})
    world.workflows.resumptions.clear()
    return world.stored(task)


# --------------------------------------------------------------------------------------- nested and foreign executions


class TestANestedQuestion:
    CHILD = Execution(state_machine_arn("Child"), "a-child")
    GRANDCHILD = Execution(state_machine_arn("Grandchild"), "a-grandchild")

    def ask(self, world: World, execution: Execution, token: str = "a token") -> None:
        world.workflows.waiting.add(token)
        world.requests.record(Question(execution, token, "approval", FORM))

    def test_is_asked_in_the_task_whose_execution_started_it(self) -> None:
        world = World()
        task = world.call()
        world.workflows.starters = {self.CHILD: task.execution, self.GRANDCHILD: self.CHILD}

        self.ask(world, self.CHILD, "1")
        self.ask(world, self.GRANDCHILD, "2")

        assert [one.key for one in world.stored(task).input_requests] == ["approval", "approval-2"]

    def test_waits_a_little_for_a_history_that_lags_behind(self) -> None:
        world = World()
        task = world.call()
        world.workflows.starters, world.workflows.unproven = {self.CHILD: task.execution}, 2

        self.ask(world, self.CHILD)

        assert len(world.stored(task).input_requests) == 1
        assert world.clock.slept == [0.5, 1.0]

    def test_whose_starter_does_not_confirm_it_is_asked_in_no_task(self) -> None:
        """Nobody asks in the task of another: whoever starts an execution chooses its input."""
        world = World()
        task = world.call()
        world.workflows.starters, world.workflows.unproven = {self.CHILD: task.execution}, 99

        self.ask(world, self.CHILD)

        assert world.stored(task).input_requests == ()
        assert failure_of_the_only_state(world)[0] == NOT_SUPPORTED

    def test_of_an_execution_that_nobody_started_fails_its_state_and_says_what_is_missing(self) -> None:
        world = World()

        self.ask(world, self.CHILD)

        error, cause = failure_of_the_only_state(world)
        assert error == NOT_SUPPORTED
        assert "needs AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID in its input" in (cause or "")

    def test_looks_up_only_some_generations_even_in_a_circle(self) -> None:
        world = World()
        world.workflows.starters = {self.CHILD: self.GRANDCHILD, self.GRANDCHILD: self.CHILD}

        self.ask(world, self.CHILD)

        assert len(world.workflows.starters_asked) == MOST_GENERATIONS
        assert failure_of_the_only_state(world)[0] == NOT_SUPPORTED

    def test_of_a_task_s_own_execution_asks_step_functions_nothing(self) -> None:
        world = World()

        world.ask(world.call().task_id)

        assert world.workflows.starters_asked == []


def test_a_question_from_another_account_or_region_fails_its_state() -> None:
    """Its answer could not be delivered; the function's error is the state's."""
    world = World()
    task = world.call(
        replace(OPTIONAL, plan=plan_of(state_machine_arn("Optional"), "arn:aws:iam::222222222222:role/stepwire"))
    )

    with pytest.raises(ForeignQuestion):
        world.ask(task.task_id)

    assert world.stored(task).input_requests == ()


# ----------------------------------------------------------------------------------------------------- the sample event

WAIT_AND_ECHO = replace(OPTIONAL, name="wait_and_echo", plan=plan_of(state_machine_arn("WaitAndEcho")))


def test_the_sample_event_has_the_execution_the_question_and_the_timeout() -> None:
    event = recorded("input_requested")

    question = question_of(event)

    assert question.execution == World().call(WAIT_AND_ECHO).execution
    assert (question.token, question.key) == (event["task_token"], "approval")
    assert question.elicitation == event["elicitation"]
    assert question.timeout_seconds == 86_400


def test_the_sample_event_adds_a_question_to_its_task() -> None:
    world = World()
    task = world.call(WAIT_AND_ECHO)

    world.requests.record(question_of(recorded("input_requested")))

    (request,) = world.stored(task).input_requests
    assert isinstance(request.asked, FormElicitation)
    assert request.asked.message == "Refund 250.00 EUR for order 1001 (a chair)?"
    assert request.destination == Callback(recorded("input_requested")["task_token"])
    assert request.expires_at == START_OF_TIME + timedelta(days=1)


@pytest.mark.parametrize("seconds", [0, -1, True, "soon", "90", 1e300, 31_622_401, [], {}])
def test_an_invalid_timeout_fails_the_state(seconds: Any) -> None:
    world = World()
    task = world.call()
    event = {**recorded("input_requested"), "timeout_seconds": seconds}
    question = replace(question_of(event), execution=task.execution)
    world.workflows.waiting.add(question.token)

    world.requests.record(question)

    (broken,) = world.workflows.resumptions
    assert broken.error == "Stepwire.InvalidInputRequest"
    assert "timeout_seconds" in (broken.cause or "")


def test_optional_fields_may_be_missing() -> None:
    event = recorded("input_requested")
    for name in ("timeout_seconds", "key", "elicitation"):
        del event[name]

    question = question_of(event)

    assert (question.timeout_seconds, question.key, question.elicitation) == (None, None, None)


@pytest.mark.parametrize("name", ["execution_arn", "task_token"])
def test_an_event_without_a_token_or_execution_is_refused(name: str) -> None:
    event = recorded("input_requested")
    del event[name]

    with pytest.raises(KeyError):
        question_of(event)
