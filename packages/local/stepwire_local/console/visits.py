"""What became of each state, read from the history of an execution.

Pure. The rules: a visit belongs to the state that was entered, however many items of a Map run at once (each event
names the one before it); a failure that a Retry follows or a Catch takes is none of the execution's.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from stepwire_local.console.definitions import END, START

LONGEST: Final = 32 * 1024  # characters of an input or an output
MOST_VISITS: Final = 200  # of a state, with input and output: the last ones
_ENTERED: Final = "StateEntered"
_EXITED: Final = "StateExited"
_CONTAINERS: Final = ("MapIteration", "MapState", "ParallelState", "MapRun")
_STARTS: Final = ("MapState", "ParallelState")
_OUTER: Final = ("Map", "Parallel")
_FAILURES: Final = ("Failed", "TimedOut", "Aborted")
_WAITS: Final = ".waitForTaskToken"
# The gravest first: what a state shows that was visited several times.
STATUSES: Final = ("failed", "running", "waiting", "aborted", "caught", "succeeded")
_OPEN: Final = ("running", "waiting")

_NONE: Final[Mapping[str, Any]] = {}

Event = Mapping[str, Any]


@dataclass
class Visit:
    """One visit of a state."""

    name: str
    type: str
    entered: str
    """ISO 8601."""
    parent: "Visit | None"
    input: str = ""
    exited: str = ""
    output: str = ""
    status: str = "running"
    error: str = ""
    cause: str = ""
    tries: int = 0
    is_exited: bool = False

    def for_page(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "entered": self.entered,
            "exited": self.exited,
            "status": self.status,
            "input": shortened(self.input),
            "output": shortened(self.output),
            "error": self.error,
            "cause": shortened(self.cause),
            "tries": self.tries,
        }


@dataclass
class Course:
    """What happened in an execution so far."""

    visits: list[Visit] = field(default_factory=list[Visit])
    taken: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """The ways that were taken: from, to."""

    def states(self) -> dict[str, Any]:
        """Return a summary of each visited state."""
        found: dict[str, list[Visit]] = {}
        for visit in self.visits:
            found.setdefault(visit.name, []).append(visit)
        return {name: _summary(visits) for name, visits in found.items()}

    def visits_of(self, name: str) -> Sequence[dict[str, Any]]:
        """Return the last visits of a state, with input and output, oldest first."""
        return [visit.for_page() for visit in self.visits if visit.name == name][-MOST_VISITS:]


def _summary(visits: Sequence[Visit]) -> dict[str, Any]:
    counts = {status: sum(visit.status == status for visit in visits) for status in STATUSES}
    return {
        "status": next(status for status in STATUSES if counts[status]),
        "visits": len(visits),
        "counts": {status: count for status, count in counts.items() if count},
        "tries": max(visit.tries for visit in visits),
        "entered": visits[0].entered,
        "exited": visits[-1].exited if all(visit.exited for visit in visits) else "",
        "error": next((visit.error for visit in reversed(visits) if visit.error), ""),
    }


def course_of(events: Iterable[Event], *, start: str = "", ended: str = "") -> Course:
    """Return what happened, from the events of a history in their order.

    What a stop interrupts may have no event, so `ended` counts for it.
    """
    course, owners = Course(), dict[int, Visit | None]()
    for event in events:
        before = owners.get(event.get("previousEventId", 0))
        kind = str(event["type"])
        if kind.endswith(_ENTERED):
            owners[event["id"]] = _entered(course, event, before, start)
        elif kind.startswith("Execution"):
            _end(course, event, before)
            owners[event["id"]] = before
        else:
            owners[event["id"]] = _happened(event, kind, before)
    for visit in course.visits:
        _explain(visit)
        if ended and visit.status in _OPEN:
            visit.status, visit.exited = "aborted", ended
    return course


def _explain(visit: Visit) -> None:
    """Give a Fail state its error: only what it fails, around it, has an event that tells it."""
    around = visit.parent if visit.type == "Fail" and not visit.error else None
    while around is not None and not around.error:
        around = around.parent
    if around is not None:
        visit.error, visit.cause = around.error, around.cause


def _entered(course: Course, event: Event, before: Visit | None, start: str) -> Visit:
    details = event["stateEnteredEventDetails"]
    name, kind = str(details["name"]), str(event["type"]).removesuffix(_ENTERED)
    follows = before is not None and (before.is_exited or before.status == "failed")
    if before is not None and before.status == "failed":
        before.status, before.exited = "caught", before.exited or _time(event)
    parent = before.parent if before is not None and follows else before
    if before is not None and follows:
        course.taken.add((before.name, name))
    elif parent is None and name == start:
        course.taken.add((START, name))
    visit = Visit(name, kind, _time(event), parent, input=str(details.get("input", "")))
    visit.status = {"Wait": "waiting", "Fail": "failed"}.get(kind, "running")
    course.visits.append(visit)
    return visit


def _happened(event: Event, kind: str, before: Visit | None) -> Visit | None:
    """Note an event of a visit; return the visit that it belongs to."""
    if kind.endswith(_EXITED):
        return _exited(event, before)
    if kind.startswith(_CONTAINERS):
        return _of_container(event, kind, before)
    if before is not None:
        _note(before, event, kind)
    return before


def _of_container(event: Event, kind: str, before: Visit | None) -> Visit | None:
    """Note an event of a Map or Parallel; the event before it may be of a state inside."""
    visit = before
    if kind.endswith("Started"):
        if visit is not None and kind.startswith(_STARTS):
            visit.status, visit.tries = "running", visit.tries + 1
        return visit
    while visit is not None and (visit.is_exited or visit.status == "failed" or visit.type not in _OUTER):
        visit = visit.parent
    if visit is not None and kind.endswith(_FAILURES) and not kind.startswith("MapIteration"):
        _note(visit, event, kind)
    return visit


def _note(visit: Visit, event: Event, kind: str) -> None:
    details: Mapping[str, Any] = next((value for name, value in event.items() if name.endswith("EventDetails")), _NONE)
    if kind.endswith(_FAILURES):
        visit.status, visit.error = "failed", str(details.get("error") or "")
        visit.cause = str(details.get("cause") or "")
    elif kind.endswith("Scheduled"):
        visit.tries += 1
        resource = str(details.get("resource", ""))
        visit.status = "waiting" if kind == "ActivityScheduled" or resource.endswith(_WAITS) else "running"


def _exited(event: Event, before: Visit | None) -> Visit | None:
    details = event["stateExitedEventDetails"]
    visit = before
    while visit is not None and visit.name != details["name"]:
        visit = visit.parent
    if visit is not None:
        visit.is_exited, visit.exited, visit.output = True, _time(event), str(details.get("output", ""))
        visit.status = "caught" if visit.status == "failed" else "succeeded"
    return visit


def _end(course: Course, event: Event, last: Visit | None) -> None:
    """Close what is open when the execution ends."""
    kind = str(event["type"]).removeprefix("Execution")
    if kind == "Succeeded" and last is not None:
        course.taken.add((last.name, END))
    if kind not in ("Succeeded", *_FAILURES):
        return
    details: Mapping[str, Any] = event.get("executionFailedEventDetails") or {}
    fails = last if kind == "Failed" else None
    while fails is not None:
        if fails.status in _OPEN or not fails.is_exited:
            fails.status, fails.exited = "failed", _time(event)
            fails.error = fails.error or str(details.get("error") or "")
            fails.cause = fails.cause or str(details.get("cause") or "")
        fails = fails.parent
    for visit in course.visits:
        if visit.status in _OPEN:
            visit.status, visit.exited = "aborted", _time(event)


def _time(event: Event) -> str:
    return event["timestamp"].isoformat(timespec="milliseconds")


def shortened(text: str) -> str:
    """Return JSON text for people: indented, and cut at `LONGEST` characters."""
    with suppress(ValueError, RecursionError):
        text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n... {len(text) - LONGEST} more characters"
