"""A tutorial, second chapter: a task that asks its user, reports progress, and asks before it starts.

As in the first chapter, `World` is a whole Stepwire over ports in memory: a state of a workflow asks when a test lets
it, and waits until it gets its answer.
"""

from stepwire.engine.calls import ToolCall
from stepwire.tasks.inputs import Mode, params_of
from stepwire.tasks.task import Completed, InputRequired, Origin, Progress, Working
from tests.fake_workflows import Resumption
from tests.kits import ALICE, ARGUMENTS, BOTH_MODES, CONFIRMED, TELLING, World

YES = {"action": "accept", "content": {"amount": 25}}


def test_1_a_state_that_asks_makes_its_task_require_input() -> None:
    world = World()
    task = world.call()

    world.ask(task.task_id, "approval")

    status = world.operations.get(ALICE, task.task_id).status
    assert isinstance(status, InputRequired)
    assert [(request.key, params_of(request.asked)["message"]) for request in status.requests] == [
        ("approval", "May it go on?")
    ]


def test_2_the_answer_is_the_output_of_the_state_that_asked() -> None:
    world = World()
    task = world.call()
    token = world.ask(task.task_id, "approval")

    after = world.answers.respond(ALICE, task.task_id, {"approval": YES})

    assert after.status == Working()
    assert world.workflows.resumptions == [Resumption(token, '{"action":"accept","content":{"amount":25}}')]


def test_3_a_decline_is_an_answer_and_the_workflow_decides_what_it_means() -> None:
    world = World()
    task = world.call()
    token = world.ask(task.task_id, "approval")

    world.answers.respond(ALICE, task.task_id, {"approval": {"action": "decline"}})

    assert world.workflows.resumptions == [Resumption(token, '{"action":"decline"}')]
    assert world.workflows.running() == (task.execution,)


def test_4_after_a_wrong_answer_the_question_is_asked_again_with_the_reason() -> None:
    world = World()
    task = world.call()
    world.ask(task.task_id, "approval")

    answer = {"action": "accept", "content": {"amount": 500}}
    after = world.answers.respond(ALICE, task.task_id, {"approval": answer})

    (again,) = after.input_requests
    assert (again.key, again.refusal) == ("approval#2", "at content/amount: 500 is greater than the maximum of 100")
    assert world.workflows.resumptions == []


def test_5_several_questions_are_open_at_once_and_answered_one_by_one() -> None:
    world = World()
    task = world.call()
    for number in range(3):
        world.ask(task.task_id, "approval", token=f"branch {number}")

    after = world.answers.respond(ALICE, task.task_id, {"approval-2": YES})

    assert [request.key for request in after.input_requests] == ["approval", "approval-3"]
    assert [resumption.token for resumption in world.workflows.resumptions] == ["branch 1"]


def test_6_an_undelivered_answer_is_delivered_by_the_next_reader() -> None:
    world = World()
    task = world.call()
    token = world.ask(task.task_id, "approval")
    world.workflows.is_available = False
    world.answers.respond(ALICE, task.task_id, {"approval": YES})
    world.workflows.is_available = True

    world.operations.get(ALICE, task.task_id)

    assert [resumption.token for resumption in world.workflows.resumptions] == [token]


def test_7_a_question_that_cannot_be_answered_fails_its_state_with_an_error_to_catch() -> None:
    world = World()
    task = world.call(modes=frozenset({Mode.URL}))

    token = world.ask(task.task_id, "approval")

    cause = "The client that called the tool does not support elicitation in mode 'form'."
    assert world.workflows.resumptions == [Resumption(token, error="Stepwire.InputNotSupported", cause=cause)]
    assert world.stored(task).status == Working()


def test_8_a_question_ends_when_its_state_no_longer_waits() -> None:
    world = World()
    task = world.call()
    world.ask(task.task_id, "approval", seconds=60)

    world.clock.advance(seconds=60)

    assert world.operations.get(ALICE, task.task_id).status == Working()


def test_9_a_workflow_reports_progress_which_never_decreases() -> None:
    world = World()
    task = world.call()

    world.progress(task.task_id, 60, message="60 of 100 rows")
    world.progress(task.task_id, 40, message="40 of 100 rows")

    assert world.stored(task).progress == Progress(60, 100)
    assert world.stored(task).status == Working("60 of 100 rows")


def test_10_without_reports_the_name_of_the_state_is_shown() -> None:
    world = World()
    task = world.call(TELLING)
    world.workflows.current_states[task.execution] = "ReadDataset"
    world.clock.time += world.intervals.state

    after = world.operations.get(ALICE, task.task_id)

    assert after.status == Working("The workflow is in its state ReadDataset.")


def test_11_a_tool_may_ask_for_a_confirmation_before_it_starts() -> None:
    world = World()
    assert CONFIRMED.confirmation is not None
    call = ToolCall(ALICE, CONFIRMED, ARGUMENTS, None, Origin(BOTH_MODES))

    task = world.calls.begin(call, CONFIRMED.confirmation).task
    assert world.workflows.starts == []
    world.answers.respond(ALICE, task.task_id, {"confirm": {"action": "accept", "content": {"reason": "tidy up"}}})

    (start,) = world.workflows.starts
    assert start.input_text == '{"text":"hello","confirmation":{"reason":"tidy up"}}'


def test_12_nothing_starts_if_the_user_declines() -> None:
    world = World()
    assert CONFIRMED.confirmation is not None
    call = ToolCall(ALICE, CONFIRMED, ARGUMENTS, None, Origin(BOTH_MODES))
    task = world.calls.begin(call, CONFIRMED.confirmation).task

    after = world.answers.respond(ALICE, task.task_id, {"confirm": {"action": "decline"}})

    assert isinstance(after.status, Completed)
    assert after.status.result.is_error
    assert world.workflows.starts == []
