"""A small load with every check of the large one; and that each check can fail."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.server.answers import Json
from tools.load.__main__ import main
from tools.load.clients import Kind, Request, Story
from tools.load.run import Plan, run
from tools.load.site import Account
from tools.load.verdict import Evidence, faults

PLAN = Plan(tasks=100, clients=20, steady=0.0, patience=600.0)


ENDS = {
    Kind.FAILING: ("failed", "completed_with_error", "FAILED"),
    Kind.CANCELLED: ("cancelled", "cancelled", "ABORTED"),
}
COMPLETED = ("completed", "completed", "SUCCEEDED")


@pytest.mark.long
def test_none_of_a_hundred_concurrent_tasks_is_lost() -> None:
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
    """Return a correct record of a task."""
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
    """Return the evidence of a correct load: two clients with a task of each kind."""
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


def changed(seen: Evidence, **changes: object) -> Evidence:
    """Change what the first client has seen of its first task."""
    first, *others = seen.stories
    return replace(seen, stories=[replace(first, **changes), *others])  # pyright: ignore[reportArgumentType]  # the tests know the fields


def ended(seen: Evidence, **changes: object) -> Evidence:
    """Change what the account holds at the end."""
    return replace(seen, at_the_end=replace(seen.at_the_end, **changes))  # pyright: ignore[reportArgumentType]  # likewise


def two_results_swapped(seen: Evidence) -> Evidence:
    first, second = (index for index, story in enumerate(seen.stories) if story.kind is Kind.POLLED)
    stories = list(seen.stories)
    for at, other in ((first, second), (second, first)):
        stories[at] = replace(stories[at], result=seen.stories[other].result)
    return replace(seen, stories=stories)


def one_that_had_ended_before_all_were_there(seen: Evidence) -> Evidence:
    (task_id, _), *others = seen.at_the_peak.executions
    return replace(seen, at_the_peak=replace(seen.at_the_peak, executions=((task_id, "SUCCEEDED"), *others)))


def somebody_elses_task_listed(seen: Evidence) -> Evidence:
    (client, own), (other, _), *others = seen.listed.items()
    return replace(seen, listed={client: own, other: own, **dict(others)})


DOCTORED: dict[str, Callable[[Evidence], Evidence]] = {
    "two results swapped": two_results_swapped,
    "an end taken back": lambda seen: changed(seen, statuses=["working", "cancelled", "completed"]),
    "a task made twice": lambda seen: ended(seen, tasks={**seen.at_the_end.tasks, "another": "completed"}),
    "an execution begun twice": lambda seen: ended(
        seen, executions=(*seen.at_the_end.executions, seen.at_the_end.executions[0])
    ),
    "an execution that goes on": lambda seen: ended(
        seen, executions=((seen.at_the_end.executions[0][0], "RUNNING"), *seen.at_the_end.executions[1:])
    ),
    "a slot kept": lambda seen: ended(seen, slots={"somebody": 1}),
    "one that had ended before all were there": one_that_had_ended_before_all_were_there,
    "somebody else's task listed": somebody_elses_task_listed,
    "a client turned away": lambda seen: replace(seen, requests=[*seen.requests, Request("tasks/get", 429, 0.0, 0.0)]),
    "a client with a fault": lambda seen: replace(seen, told=["client 1, task 2: AssertionError"]),
}


@pytest.mark.parametrize("violation", DOCTORED)
def test_a_violation_is_reported(seen: Evidence, violation: str) -> None:
    assert faults(DOCTORED[violation](seen)) != []


def test_tasks_that_cannot_be_shared_evenly_are_refused() -> None:
    with pytest.raises(SystemExit):
        main(["--tasks", "7", "--clients", "2"])
