"""The checks of a load: each gets everything that was seen, and returns violations as text."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from tools.load.clients import ENDED, Kind, Request, Story
from tools.load.site import Account

_SUCCESS: Final = (200, 202)
_FAILED_WITH: Final = "The workflow failed with Load: "
_RECORDED: Final = {Kind.FAILING: "completed_with_error", Kind.CANCELLED: "cancelled"}
"""The status of the end in the table, if not `completed`."""
_EXECUTED: Final = {Kind.FAILING: "FAILED", Kind.CANCELLED: "ABORTED"}
"""The status of the execution, if not SUCCEEDED."""


@dataclass(frozen=True)
class Evidence:
    """What clients and the account showed during a load."""

    stories: Sequence[Story]
    listed: Mapping[str, frozenset[str]]
    """The task ids that each client with a list got at the end."""
    told: Sequence[str]
    """Errors that the clients met."""
    requests: Sequence[Request]
    at_the_peak: Account
    at_the_end: Account


def faults(seen: Evidence) -> list[str]:
    """Return all violations; empty if there are none."""
    return list(chain.from_iterable(check(seen) for check in CHECKS))


def _no_client_met_a_fault(seen: Evidence) -> Iterator[str]:
    yield from seen.told
    for status, count in Counter(one.status for one in seen.requests).items():
        if status not in _SUCCESS:
            yield f"{count} requests were answered with {status}"


def _all_were_in_flight_at_one_moment(seen: Evidence) -> Iterator[str]:
    going_on = [task_id for task_id, status in seen.at_the_peak.executions if status == "RUNNING"]
    still_open = [
        task_id for task_id, status in seen.at_the_peak.tasks.items() if status in ("working", "input_required")
    ]
    wanted = sorted(story.task_id for story in seen.stories)
    if not sorted(going_on) == sorted(still_open) == wanted:
        yield f"of {len(wanted)} tasks, {len(still_open)} were open, and {len(going_on)} executions ran, at one moment"


def _each_task_is_there_once_and_has_one_execution(seen: Evidence) -> Iterator[str]:
    made = Counter(story.task_id for story in seen.stories)
    yield from _differences("a client's task", made, "in the table", Counter(seen.at_the_end.tasks.keys()))
    begun = Counter(task_id for task_id, _ in seen.at_the_end.executions)
    yield from _differences("a client's task", made, "an execution", begun)


def _each_has_its_own_result(seen: Evidence) -> Iterator[str]:
    for story in seen.stories:
        if (words := _words_in(story)) != story.words:
            yield f"{_name(story)} was given {words!r} for {story.words!r}"


def _each_ends_once_and_as_it_must(seen: Evidence) -> Iterator[str]:
    executed = dict(seen.at_the_end.executions)
    for story in seen.stories:
        *before, end = story.statuses or [""]
        if end not in ENDED or ENDED & {*before} or story.last_status != end:
            yield f"{_name(story)} was {', '.join(story.statuses)}, and in the end {story.last_status}"
        recorded = seen.at_the_end.tasks.get(story.task_id)
        if recorded != _RECORDED.get(story.kind, "completed"):
            yield f"{_name(story)} is {recorded} in the table"
        if executed.get(story.task_id) != _EXECUTED.get(story.kind, "SUCCEEDED"):
            yield f"the execution of {_name(story)} is {executed.get(story.task_id)}"


def _no_slot_is_held(seen: Evidence) -> Iterator[str]:
    for caller, count in seen.at_the_end.slots.items():
        yield f"{caller} holds {count} slots of active tasks"


def _each_client_is_shown_its_own_tasks(seen: Evidence) -> Iterator[str]:
    for client, listed in seen.listed.items():
        if listed != frozenset(story.task_id for story in seen.stories if story.client == client):
            yield f"{client} was shown other tasks than its own"


Check = Callable[[Evidence], Iterable[str]]
CHECKS: Final[tuple[Check, ...]] = (
    _no_client_met_a_fault,
    _all_were_in_flight_at_one_moment,
    _each_task_is_there_once_and_has_one_execution,
    _each_has_its_own_result,
    _each_ends_once_and_as_it_must,
    _no_slot_is_held,
    _each_client_is_shown_its_own_tasks,
)


def _words_in(story: Story) -> str | None:
    """Return the unique text in a result; None for a cancelled task."""
    structured = story.result.get("structuredContent", {})
    match story.kind:
        case Kind.CANCELLED:
            return story.words if not structured else None
        case Kind.FAILING:
            text = story.result.get("content", [{}])[0].get("text", "")
            return text.removeprefix(_FAILED_WITH) if text.startswith(_FAILED_WITH) else None
        case Kind.ASKING:
            return structured.get("content", {}).get("words")
        case _:
            return structured.get("words")


def _differences(one: str, these: Counter[str], other: str, those: Counter[str]) -> Iterator[str]:
    for task_id, count in (these - those).items():
        yield f"{task_id} is {one} {count} times more than it is {other}"
    for task_id, count in (those - these).items():
        yield f"{task_id} is {other} {count} times more than it is {one}"


def _name(story: Story) -> str:
    return f"task {story.number} of {story.client} ({story.kind.value})"
