"""Tools that need a confirmation in their task: yes starts the work once, no starts nothing."""

from typing import Any

import pytest
from msgspec.structs import replace

from stepwire.audit import AuditAction
from stepwire.catalog.tools import Tool
from stepwire.engine.answers import WrongAnswer, merged_input
from stepwire.engine.calls import ToolCall
from stepwire.errors import StartRefused, StartRefusedForNow, StartUnclear
from stepwire.json_text import JsonObject, parse, write
from stepwire.tasks.answers import Action, InputResponse
from stepwire.tasks.inputs import params_of
from stepwire.tasks.task import LARGEST_INPUT, Cancelled, Completed, Failed, Origin, Task, ToolResult, Working
from tests.fake_workflows import Start, Stop
from tests.fakes import nothing
from tests.kits import ALICE, ARGUMENTS, BOTH_MODES, CONFIRMED, World

YES: JsonObject = {"action": "accept", "content": {"reason": "tidy up"}}
NO: JsonObject = {"action": "decline"}
INPUT = '{"text":"hello","confirmation":{"reason":"tidy up"}}'


def unconfirmed(world: World, tool: Tool = CONFIRMED, arguments: JsonObject = ARGUMENTS) -> Task:
    """Call a tool that needs a confirmation."""
    assert tool.confirmation is not None
    return world.calls.begin(ToolCall(ALICE, tool, arguments, None, Origin(BOTH_MODES)), tool.confirmation).task


def respond(world: World, task: Task, answer: Any) -> Task:
    return world.answers.respond(ALICE, task.task_id, {"confirm": answer})


def words_of(task: Task) -> str:
    """Return the text of an ended task's result."""
    assert isinstance(task.status, Completed)
    assert isinstance(task.status.result, ToolResult)
    assert task.status.result.is_error
    return task.status.result.value()["content"][0]["text"]


class TestATaskThatWaitsToBeConfirmed:
    def test_asks_and_has_started_nothing(self) -> None:
        world = World()

        task = unconfirmed(world)

        (request,) = task.input_requests
        assert (request.key, params_of(request.asked)["message"]) == ("confirm", 'Really do "hello"?')
        assert task.awaits_confirmation
        assert world.workflows.starts == []

    def test_is_not_checked_however_long_it_takes(self) -> None:
        """Nothing is running that could be lost."""
        world = World()
        task = unconfirmed(world)
        world.clock.advance(minutes=14)
        world.store.calls.clear()

        after = world.operations.get(ALICE, task.task_id)

        assert after == task
        assert world.store.calls == ["load"]
        assert (world.workflows.starts, world.workflows.described, world.workflows.looked_at) == ([], [], [])

    def test_is_cancelled_without_a_call_to_step_functions(self) -> None:
        world = World()
        task = unconfirmed(world)

        after = world.operations.cancel(ALICE, task.task_id)

        assert isinstance(after.status, Cancelled)
        assert world.workflows.stops == []
        assert not world.stored(task).needs_checks, "no sweep looks for an execution that never began"

    def test_never_starts_after_a_cancel(self) -> None:
        """T23."""
        world = World()
        task = unconfirmed(world)
        world.operations.cancel(ALICE, task.task_id)

        after = respond(world, task, YES)

        assert isinstance(after.status, Cancelled)
        assert world.workflows.starts == []


class TestYes:
    def test_starts_the_work_with_what_the_user_answered(self) -> None:
        world = World()
        task = unconfirmed(world)

        after = respond(world, task, YES)

        assert after.status == Working()
        assert world.workflows.starts == [Start(task.execution, INPUT)]
        assert world.terms_of(task).input == INPUT

    def test_starts_the_work_with_only_the_arguments_if_the_tool_ignores_the_content(self) -> None:
        world = World()
        assert CONFIRMED.confirmation is not None
        tool = replace(CONFIRMED, confirmation=replace(CONFIRMED.confirmation, input_key=None))
        task = unconfirmed(world, tool)

        respond(world, task, YES)

        assert world.workflows.starts == [Start(task.execution, write(ARGUMENTS))]

    def test_twice_starts_the_work_once(self) -> None:
        """X16."""
        world = World()
        task = unconfirmed(world)
        respond(world, task, YES)

        respond(world, task, NO)
        respond(world, task, YES)

        assert world.stored(task).status == Working()
        assert len(world.workflows.starts) == 1

    def test_that_is_wrong_repeats_the_question(self) -> None:
        world = World()
        task = unconfirmed(world)

        after = respond(world, task, {"action": "accept", "content": {"reason": "x" * 21}})

        (request,) = after.input_requests
        assert (request.key, world.workflows.starts) == ("confirm#2", [])
        assert "at content/reason: " in (request.refusal or "")
        assert world.answers.respond(ALICE, task.task_id, {"confirm#2": YES}).status == Working()

    def test_that_makes_the_input_too_large_repeats_the_question_and_starts_nothing(self) -> None:
        world = World()
        longest = LARGEST_INPUT - len(INPUT.replace("hello", ""))
        too_long, fits = (unconfirmed(world, arguments={"text": "x" * (longest + more)}) for more in (1, 0))

        refused, begun = respond(world, too_long, YES), respond(world, fits, YES)

        assert "larger than 262144 bytes" in (refused.input_requests[0].refusal or "")
        assert begun.status == Working()
        assert [start.execution for start in world.workflows.starts] == [fits.execution]

    def test_fails_the_task_when_step_functions_refuses_for_good(self) -> None:
        """X12: the client has the task id, so the task shows the failure."""
        world = World()
        task = unconfirmed(world)
        world.workflows.start_fault = StartRefused("its state machine no longer exists")

        after = respond(world, task, YES)

        assert isinstance(after.status, Failed)
        assert after.status.message == "The workflow could not be started: its state machine no longer exists"

    @pytest.mark.parametrize("fault", [StartUnclear(), StartRefusedForNow("too much")], ids=["unclear", "for now"])
    def test_is_not_lost_when_step_functions_does_not_start_now(self, fault: Any) -> None:
        world = World()
        task = unconfirmed(world)
        world.workflows.start_fault = fault

        after = respond(world, task, YES)

        assert after.status == Working()
        assert world.troubles == [fault]
        world.workflows.start_fault = None
        world.clock.time += world.intervals.repair
        world.operations.get(ALICE, task.task_id)
        assert world.workflows.starts[-1] == Start(task.execution, INPUT)
        assert world.workflows.running() == (task.execution,)


class TestNo:
    @pytest.mark.parametrize(
        ("answer", "words"),
        [
            (NO, "The user declined, and nothing was started."),
            ({"action": "cancel"}, "The user dismissed the question without an answer, and nothing was started."),
        ],
    )
    def test_ends_the_task_with_a_result_that_says_so(self, answer: JsonObject, words: str) -> None:
        world = World()
        task = unconfirmed(world)

        after = respond(world, task, answer)

        assert words_of(after) == words
        assert world.workflows.starts == []

    def test_includes_a_client_that_cannot_ask(self) -> None:
        world = World()
        task = unconfirmed(world)

        after = world.answers.mark_unanswerable(ALICE, task.task_id, "confirm")

        assert words_of(after) == "The client cannot ask its user, so nothing was started."
        assert world.workflows.starts == []


class TestTwoAtOnce:
    def test_both_confirming_start_the_work_once(self) -> None:
        world = World()
        task = unconfirmed(world)
        other: JsonObject = {"action": "accept", "content": {"reason": "me first"}}
        world.store.before_save = lambda: respond(world, task, other)

        after = respond(world, task, YES)

        assert after.status == Working()
        assert {parse(start.input_text)["confirmation"]["reason"] for start in world.workflows.starts} == {"me first"}
        assert world.workflows.running() == (task.execution,)

    def test_one_refused_start_leaves_the_task_to_the_other(self) -> None:
        world = World()
        task = unconfirmed(world)
        world.clock.time += world.intervals.repair

        def look() -> None:
            world.workflows.on_start = nothing
            world.operations.get(ALICE, task.task_id)
            world.workflows.start_fault = StartRefused("its state machine no longer exists")

        world.workflows.on_start = look

        after = respond(world, task, YES)

        assert world.workflows.running() == (task.execution,)
        assert after.status == world.stored(task).status == Working()

    def test_a_decline_first_starts_nothing(self) -> None:
        world = World()
        task = unconfirmed(world)
        world.store.before_save = lambda: respond(world, task, NO)

        after = respond(world, task, YES)

        assert words_of(after) == "The user declined, and nothing was started."
        assert world.workflows.starts == []

    def test_a_confirmation_first_starts_the_work(self) -> None:
        """No result may say that nothing was started while the work runs."""
        world = World()
        task = unconfirmed(world)
        world.store.before_save = lambda: respond(world, task, YES)

        after = respond(world, task, NO)

        assert after.status == Working()
        assert world.workflows.running() == (task.execution,)

    def test_a_decline_during_a_repeated_question_wins(self) -> None:
        world = World()
        task = unconfirmed(world)
        world.store.before_save = lambda: world.answers.ask_again(task, {"confirm": WrongAnswer("wrong")})

        after = respond(world, task, NO)

        assert words_of(after) == "The user declined, and nothing was started."

    @pytest.mark.parametrize(
        ("operator", "cause"), [(None, "Cancelled by the caller."), ("olga", "Cancelled by the operator.")]
    )
    def test_a_concurrent_cancel_leaves_nothing_running(self, operator: str | None, cause: str) -> None:
        """T23: the yes comes between the cancel's read and its write."""
        world = World()
        task = unconfirmed(world)
        world.store.before_save = lambda: respond(world, task, YES)

        after = world.operations.cancel(ALICE, task.task_id, operator)

        assert isinstance(after.status, Cancelled)
        assert world.workflows.running() == ()
        assert world.workflows.stops == [Stop(task.execution, cause)]
        assert (world.audit[-1].action, world.audit[-1].operator) == (AuditAction.CANCELLED, operator)

    def test_a_cancel_during_the_start_leaves_nothing_running(self) -> None:
        """T23: the cancel comes between the record of the yes and the start."""
        world = World()
        task = unconfirmed(world)
        world.workflows.on_start = lambda: (world.operations.cancel(ALICE, task.task_id), None)[1]

        after = respond(world, task, YES)

        assert isinstance(after.status, Cancelled)
        assert world.workflows.running() == ()


def test_the_users_answer_overrides_an_argument_of_the_same_name() -> None:
    """Even if the tool accepts any argument, a caller cannot answer instead of the user."""
    answer = InputResponse(Action.ACCEPT, '{"sure":true}')

    assert merged_input('{"confirm":{"sure":false},"a":1}', "confirm", answer) == '{"confirm":{"sure":true},"a":1}'
