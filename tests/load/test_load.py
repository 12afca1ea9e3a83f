"""A small load, with every check of the large one, and that each of the checks can fail."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.load.__main__ import main
from tests.load.clients import Kind, Request, Story
from tests.load.run import Plan, run
from tests.load.site import Account
from tests.load.verdict import Evidence, faults
from tests.server.answers import Json

PLAN = Plan(tasks=100, clients=20, steady=0.0, patience=600.0)


ENDS = {
    Kind.FAILING: ("failed", "completed_with_error", "FAILED"),
    Kind.CANCELLED: ("cancelled", "cancelled", "ABORTED"),
}
COMPLETED = ("completed", "completed", "SUCCEEDED")


@pytest.mark.long
def test_of_a_hundred_tasks_in_flight_at_once_nothing_is_lost() -> None:
    seen, _ = run(PLAN)

    assert faults(seen) == []
    assert len(seen.stories) == len(seen.at_the_peak.executions) == 100
    assert len({story.client for story in seen.stories}) == 20


@pytest.mark.long
def test_one_end_without_a_status_event_fails_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--tasks", "4", "--clients", "2", "--steady", "0", "--patience", "30", "--lose", "1"])

    shown = capsys.readouterr().out
    assert code == 1
    assert "has waited too long" in shown
    assert "is working in the table" in shown
    assert "1 slots of active tasks" in shown


def story(client: str, number: int, kind: Kind) -> Story:
    """Tell of a task as it must be."""
    words = f"{client}, {number}"
    results: dict[Kind, Json] = {
        Kind.FAILING: {"content": [{"text": f"The workflow failed with Load: {words}"}]},
        Kind.ASKING: {"structuredContent": {"content": {"words": words}}},
        Kind.CANCELLED: {},
    }
    end, _, _ = ENDS.get(kind, COMPLETED)
    result = results.get(kind, {"structuredContent": {"words": words}})
    return Story(client, number, kind, words, words, ["working", end], result, end)


@pytest.fixture
def seen() -> Evidence:
    """What is seen of a load in which all holds: two clients with a task of each kind."""
    stories = [story(client, number, kind) for client in ("client 1", "client 2") for number, kind in enumerate(Kind)]
    ends = {story.task_id: ENDS.get(story.kind, COMPLETED) for story in stories}
    listed = {
        client: frozenset(one.task_id for one in stories if one.client == client) for client in ("client 1", "client 2")
    }
    peak = Account(
        dict.fromkeys(ends, "working"), tuple((task_id, "RUNNING") for task_id in ends), {"somebody": len(ends)}
    )
    end = Account(
        {task_id: recorded for task_id, (_, recorded, _) in ends.items()},
        tuple((task_id, executed) for task_id, (_, _, executed) in ends.items()),
        {},
    )
    return Evidence(stories, listed, [], [Request("tasks/get", 200, 0.0, 0.0)], peak, end)


def test_a_correct_run_reports_no_violation(seen: Evidence) -> None:
    assert faults(seen) == []


def changed(seen: Evidence, index: int, **changes: object) -> Evidence:
    """Let one client have seen something else of a task."""
    stories = list(seen.stories)
    stories[index] = replace(stories[index], **changes)  # pyright: ignore[reportArgumentType]  # the tests know the fields
    return replace(seen, stories=stories)


def two_results_swapped(seen: Evidence) -> Evidence:
    first, second = (index for index, story in enumerate(seen.stories) if story.kind is Kind.POLLED)
    once = changed(seen, first, result=seen.stories[second].result)
    return changed(once, second, result=seen.stories[first].result)


def a_result_lost(seen: Evidence) -> Evidence:
    return changed(seen, 0, result={})


def an_end_lost(seen: Evidence) -> Evidence:
    return changed(seen, 0, statuses=["working"], last_status="working")


def an_end_taken_back(seen: Evidence) -> Evidence:
    return changed(seen, 0, statuses=["working", "cancelled", "completed"])


def a_task_lost(seen: Evidence) -> Evidence:
    _, *kept = seen.at_the_end.tasks.items()
    return replace(seen, at_the_end=replace(seen.at_the_end, tasks=dict(kept)))


def a_task_made_twice(seen: Evidence) -> Evidence:
    tasks = {**seen.at_the_end.tasks, "another": "completed"}
    return replace(seen, at_the_end=replace(seen.at_the_end, tasks=tasks))


def an_execution_begun_twice(seen: Evidence) -> Evidence:
    executions = (*seen.at_the_end.executions, seen.at_the_end.executions[0])
    return replace(seen, at_the_end=replace(seen.at_the_end, executions=executions))


def an_execution_that_goes_on(seen: Evidence) -> Evidence:
    (task_id, _), *others = seen.at_the_end.executions
    return replace(seen, at_the_end=replace(seen.at_the_end, executions=((task_id, "RUNNING"), *others)))


def a_task_in_two_states(seen: Evidence) -> Evidence:
    tasks = {**seen.at_the_end.tasks, seen.stories[0].task_id: "working"}
    return replace(seen, at_the_end=replace(seen.at_the_end, tasks=tasks))


def a_slot_kept(seen: Evidence) -> Evidence:
    return replace(seen, at_the_end=replace(seen.at_the_end, slots={"somebody": 1}))


def one_that_had_ended_before_all_were_there(seen: Evidence) -> Evidence:
    (task_id, _), *others = seen.at_the_peak.executions
    return replace(seen, at_the_peak=replace(seen.at_the_peak, executions=((task_id, "SUCCEEDED"), *others)))


def somebody_elses_task_listed(seen: Evidence) -> Evidence:
    (client, own), (other, _), *others = seen.listed.items()
    return replace(seen, listed={client: own, other: own, **dict(others)})


def a_client_turned_away(seen: Evidence) -> Evidence:
    return replace(seen, requests=[*seen.requests, Request("tasks/get", 429, 0.0, 0.0)])


def a_client_with_a_fault(seen: Evidence) -> Evidence:
    return replace(seen, told=["client 1, task 2: AssertionError"])


DOCTORED = (
    two_results_swapped,
    a_result_lost,
    an_end_lost,
    an_end_taken_back,
    a_task_lost,
    a_task_made_twice,
    an_execution_begun_twice,
    an_execution_that_goes_on,
    a_task_in_two_states,
    a_slot_kept,
    one_that_had_ended_before_all_were_there,
    somebody_elses_task_listed,
    a_client_turned_away,
    a_client_with_a_fault,
)


@pytest.mark.parametrize("doctor", DOCTORED, ids=lambda doctor: doctor.__name__)
def test_a_violation_is_reported(seen: Evidence, doctor: Callable[[Evidence], Evidence]) -> None:
    assert faults(doctor(seen)) != []


def test_tasks_that_cannot_be_shared_evenly_are_refused() -> None:
    with pytest.raises(SystemExit):
        main(["--tasks", "7", "--clients", "2"])
