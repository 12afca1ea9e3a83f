"""What an execution has done, in words, and what its open states are doing.

Pure: events of `GetExecutionHistory` in, frozen data out. The rule: inputs, outputs and parameters of states are not
looked at, because they may hold what a caller sent, or a task token; a cause is kept apart, and shown only on request.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

Event = Mapping[str, Any]
"""An event as boto3 returns it."""
_ENTERED: Final = "stateEnteredEventDetails"
_EXITED: Final = "stateExitedEventDetails"
_LONGEST: Final = 80  # characters of an error's name, which a workflow chooses
_CALLBACK: Final = ".waitForTaskToken"
PLAIN: Final[Mapping[str, str]] = {
    "ExecutionStarted": "the execution began",
    "ExecutionSucceeded": "the execution succeeded",
    "ExecutionFailed": "the execution failed",
    "ExecutionAborted": "the execution was stopped",
    "ExecutionTimedOut": "the execution took longer than its timeout",
    "ExecutionRedriven": "the execution was redriven, at the state that had not succeeded",
    "FailStateEntered": "state {name} failed the execution",
    "MapRunStarted": "a Distributed Map began",
    "MapRunSucceeded": "the Distributed Map succeeded",
    "MapRunRedriven": "the Distributed Map was redriven",
    "EvaluationFailed": "an expression could not be evaluated",
    **{f"{kind}Failed": "its call failed" for kind in ("Task", "LambdaFunction", "Activity", "TaskSubmit")},
    **{f"{kind}TimedOut": "its call timed out" for kind in ("Task", "LambdaFunction", "Activity")},
    **{f"{kind}StartFailed": "its call could not be made" for kind in ("Task", "LambdaFunction")},
    **{f"{kind}ScheduleFailed": "its call could not be made" for kind in ("LambdaFunction", "Activity")},
}
# Other events say the same, or come once for each item of a Map.
_SILENT: Final = frozenset(
    {
        *(f"{kind}Started" for kind in ("Task", "LambdaFunction", "MapState", "ParallelState", "MapIteration")),
        *(f"{kind}Succeeded" for kind in ("Task", "LambdaFunction", "Activity", "MapState", "ParallelState")),
        "MapIterationSucceeded",
        "TaskSubmitted",
    }
)
_CALLS: Final[Mapping[str, str]] = {
    "LambdaFunctionScheduled": "lambdaFunctionScheduledEventDetails",
    "ActivityScheduled": "activityScheduledEventDetails",
    "TaskScheduled": "taskScheduledEventDetails",
}
_WORDS: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True)
class Line:
    """Something that happened."""

    at: datetime
    words: str
    cause: str = ""
    """Why something failed, in words that may quote what a caller sent."""


@dataclass(frozen=True)
class OpenState:
    """A state that was entered and not left."""

    name: str
    kind: str
    """Its type: Task, Wait, Map, ..."""
    since: datetime
    doing: str = ""
    """The call that it made last, such as lambda:invoke."""
    map_run: str | None = None
    """ARN of the Distributed Map that it runs."""

    @property
    def awaits_callback(self) -> bool:
        """Tell whether it goes on when somebody returns its task token."""
        return self.doing.endswith(_CALLBACK)


@dataclass(frozen=True)
class History:
    """What is known of an execution from its events."""

    lines: tuple[Line, ...] = ()
    """Oldest first."""
    open_states: tuple[OpenState, ...] = ()
    is_cut: bool = False
    """Whether there are older events that were not read."""


def history_of(events: Iterable[Event], *, is_cut: bool = False) -> History:
    """Return what events say, which may come in any order."""
    ordered = sorted(events, key=lambda event: event["id"])
    lines = tuple(line for event in ordered if (line := _line(event)) is not None)
    return History(lines, tuple(_open_states(ordered)), is_cut)


def _line(event: Event) -> Line | None:
    kind, details = event["type"], _details(event)
    if kind in _SILENT and not _is_answer(kind, details):
        return None
    return Line(_at(event), _words(kind, event, details), str(details.get("cause") or ""))


def _is_answer(kind: str, details: Mapping[str, Any]) -> bool:
    """Tell whether a state goes on because somebody has returned its task token."""
    return kind == "TaskSucceeded" and str(details.get("resource", "")).endswith(_CALLBACK)


def _words(kind: str, event: Event, details: Mapping[str, Any]) -> str:
    name = str(details.get("name", ""))
    error = str(details.get("error") or "")[:_LONGEST]
    ending = f": {error}" if error else ""
    if kind in PLAIN:
        return PLAIN[kind].format(name=name) + ending
    if _ENTERED in event:
        return f"state {name} began ({kind.removesuffix('StateEntered')})"
    if _EXITED in event:
        return f"state {name} ended"
    if kind in _CALLS:
        return f"it called {_called(details)}"
    if _is_answer(kind, details):
        return "the answer came for which it waited"
    return f"{_WORDS.sub(' ', kind).lower()}{ending}"


def _called(details: Mapping[str, Any]) -> str:
    """Return what a state calls: service and action, a function's or an activity's name."""
    resource = str(details.get("resource", ""))
    service = details.get("resourceType")
    return f"{service}:{resource}" if service else resource.rpartition(":")[2] or resource


def _at(event: Event) -> datetime:
    at: datetime = event["timestamp"]
    return at.astimezone(UTC)


def _details(event: Event) -> Mapping[str, Any]:
    none: Mapping[str, Any] = {}
    return next((value for name, value in event.items() if name.endswith("EventDetails") and value), none)


@dataclass
class _Walk:
    """The states that are open, and the one in which each event happened."""

    open: dict[int, OpenState] = field(default_factory=dict[int, OpenState])
    """By the id of the event that entered the state."""
    place: dict[int, int] = field(default_factory=dict[int, int])
    """The id of the event that entered the state of each event."""


def _open_states(events: Sequence[Event]) -> Iterable[OpenState]:
    walk = _Walk()
    for event in events:
        _step(walk, event)
    is_over = any(one["type"] in ("ExecutionSucceeded", "ExecutionFailed", "ExecutionAborted") for one in events[-1:])
    return [] if is_over or (events and events[-1]["type"] == "ExecutionTimedOut") else walk.open.values()


def _step(walk: _Walk, event: Event) -> None:
    number, kind, details = event["id"], event["type"], _details(event)
    place = walk.place.get(event.get("previousEventId", 0), 0)
    if _ENTERED in event:
        walk.open[number] = OpenState(details["name"], kind.removesuffix("StateEntered"), _at(event))
        place = number
    elif _EXITED in event:
        walk.open.pop(place, None)
    elif place in walk.open and kind in _CALLS:
        walk.open[place] = replace(walk.open[place], doing=_called(details))
    elif place in walk.open and kind == "MapRunStarted":
        walk.open[place] = replace(walk.open[place], map_run=details.get("mapRunArn"))
    walk.place[number] = place
