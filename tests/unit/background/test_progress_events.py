"""Progress that workflows report reaches their tasks; an invalid report is dropped and logged."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from stepwire.aws.background_functions import ExecutionEventsHandler
from stepwire.aws.workflow_events import MalformedProgress, execution_event_of
from stepwire.background.execution_events import ExecutionProgress
from stepwire.json_text import LARGEST_INTEGER
from stepwire.tasks.ids import TaskId
from stepwire.tasks.task import Execution, Progress, Working
from tests.kits import ALICE, OPTIONAL, OUTPUT, World, plan_of, state_machine_arn
from tests.recorded import recorded

WAIT_AND_ECHO = replace(OPTIONAL, name="wait_and_echo", plan=plan_of(state_machine_arn("WaitAndEcho")))
ANOTHER = "arn:aws:states:eu-central-1:123456789012:execution:Another:a-name"


def made(event: dict[str, Any]) -> ExecutionProgress:
    """Parse an event that must be a progress report."""
    news = execution_event_of(event)
    assert isinstance(news, ExecutionProgress)
    return news


def event_of(**changes: Any) -> dict[str, Any]:
    """Return the sample event with another detail."""
    event = recorded("progress_reported")
    event["detail"] = {name: value for name, value in {**event["detail"], **changes}.items() if value is not ...}
    return event


# ------------------------------------------------------------------------------------------------------------ reading


def test_the_sample_event_contains_the_execution_and_its_progress() -> None:
    task = World().call(WAIT_AND_ECHO)

    news = made(recorded("progress_reported"))

    assert news == ExecutionProgress(task.execution, Progress(40, 100), "40 of 100 rows: grüße")


@pytest.mark.parametrize(
    ("changes", "progress", "message"),
    [
        ({"total": ..., "message": ...}, Progress(40), None),
        ({"total": None, "message": None}, Progress(40), None),
        ({"progress": 0, "message": ""}, Progress(0, 100), ""),
        ({"progress": 0.5, "total": 1, "message": "half"}, Progress(0.5, 1), "half"),
        ({"progress": LARGEST_INTEGER, "message": "m"}, Progress(LARGEST_INTEGER, 100), "m"),
    ],
)
def test_total_and_message_are_optional(changes: dict[str, Any], progress: Progress, message: str | None) -> None:
    news = made(event_of(**changes))

    assert (news.progress, news.message) == (progress, message)


def test_a_workflow_may_report_on_behalf_of_another() -> None:
    news = made(event_of(execution_arn=ANOTHER))

    assert news.execution == Execution(state_machine_arn("Another"), "a-name")


def test_the_execution_is_found_at_any_position_among_the_resources() -> None:
    event = recorded("progress_reported")
    event["resources"] = ["arn:aws:s3:::data", *reversed(event["resources"])]

    assert made(event) == made(recorded("progress_reported"))


NOT_OBJECTS: list[Any] = [None, [], "40", 40]
AMOUNTS = ("40", -1, -0.1, True, [40], float("nan"), float("inf"), 2**53, 1e300)  # they are part of event ids
REFUSED: list[tuple[dict[str, Any], str]] = [
    *(({name: value}, "progress must be a number from 0 to") for name in ("progress", "total") for value in AMOUNTS),
    *(({"progress": value}, "progress must be a number") for value in (None, ...)),
    *(({"message": value}, "message must be a string") for value in (7, True, ["a"], {"text": "a"}, "half \ud83d")),
    *(({"execution_arn": value}, "names no execution") for value in (7, ["arn"], {"arn": 1})),
]


@pytest.mark.parametrize(("changes", "words"), REFUSED)
def test_a_value_of_the_wrong_kind_is_named(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(MalformedProgress, match=words):
        execution_event_of(event_of(**changes))


@pytest.mark.parametrize(
    ("name", "value"), [("resources", ["arn:aws:s3:::data"]), *(("detail", one) for one in NOT_OBJECTS)]
)
def test_an_event_without_an_execution_or_a_detail_is_refused(name: str, value: Any) -> None:
    with pytest.raises(MalformedProgress):
        execution_event_of({**recorded("progress_reported"), name: value})


def test_an_invalid_event_is_dropped_without_a_retry(printed: Callable[[], str]) -> None:
    ExecutionEventsHandler()(event_of(progress="all"), None)

    logged = printed()
    assert "a workflow's progress event is not valid" in logged
    assert "progress must be a number" in logged


# ---------------------------------------------------------------------------------------------------------- recording


def test_progress_reaches_its_task() -> None:
    world = World()
    task = world.call(WAIT_AND_ECHO)
    world.store.calls.clear()

    world.events.record_progress(made(recorded("progress_reported")))

    assert world.stored(task).progress == Progress(40, 100)
    assert world.stored(task).status == Working("40 of 100 rows: grüße")
    assert world.store.calls == ["load", "save"]


def test_duplicate_progress_is_recorded_once() -> None:
    world = World()
    task = world.call()
    world.progress(task.task_id, 40)
    once = world.stored(task)
    world.clock.advance(seconds=1)
    world.store.calls.clear()

    world.progress(task.task_id, 40)

    assert world.stored(task) == once
    assert world.store.calls == ["load"]


def test_late_progress_does_not_decrease_it() -> None:
    """T33."""
    world = World()
    task = world.call()
    world.progress(task.task_id, 60, message="nearly done")

    world.progress(task.task_id, 40, message="not yet half done")

    assert world.stored(task).progress == Progress(60, 100)
    assert world.stored(task).status == Working("nearly done")


def test_progress_of_a_finished_task_changes_nothing() -> None:
    """T33."""
    world = World()
    task = world.call()
    world.succeed(task.task_id, OUTPUT)
    ended = world.stored(task)

    world.progress(task.task_id, 100)

    assert world.stored(task) == ended


def test_progress_that_races_with_the_end_is_ignored() -> None:
    world = World()
    task = world.call()
    world.store.before_save = lambda: world.succeed(task.task_id, OUTPUT)

    world.progress(task.task_id, 100)

    assert world.stored(task).has_ended
    assert world.stored(task).progress is None


def test_progress_leaves_questions_open() -> None:
    world = World()
    task = world.call()
    world.ask(task.task_id)

    world.progress(task.task_id, 40, message="the rest goes on")

    assert len(world.stored(task).input_requests) == 1
    assert world.stored(task).status.message == "the rest goes on"


@pytest.mark.parametrize(
    "execution",
    [
        Execution("", "nonsense"),
        Execution(WAIT_AND_ECHO.plan.runs[0].state_machine_arn, "nightly-import"),
        Execution(state_machine_arn("Other"), World().call(WAIT_AND_ECHO).execution.name),
    ],
    ids=["no ARN", "somebody else's name", "another state machine"],
)
def test_progress_of_a_foreign_execution_or_a_deleted_task_is_ignored(execution: Execution) -> None:
    world = World()
    task, deleted = world.call(WAIT_AND_ECHO), world.call()
    world.store.delete(deleted)

    for one in (execution, deleted.execution):
        world.events.record_progress(ExecutionProgress(one, Progress(40)))

    assert list(world.store.tasks.values()) == [world.stored(task)] == [task]


def test_progress_does_not_prevent_finding_a_lost_end() -> None:
    world = World()
    task = world.call()
    world.progress(task.task_id, 99)
    world.workflows.succeed(task.execution, OUTPUT)
    world.clock.time += world.intervals.repair

    after = world.operations.get(ALICE, TaskId(task.task_id))

    assert after.has_ended
