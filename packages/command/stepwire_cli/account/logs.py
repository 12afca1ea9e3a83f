"""What the functions of an endpoint have logged about a task, asked of CloudWatch Logs Insights in one query.

The rule: the work is bounded: one query, so many lines, and so long a wait. Only members of the audit's lines and of
lines about faults and deliveries are asked for, and none of them holds what a caller sent or received.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from stepwire.aws.audit_log import task_digest
from stepwire.tasks.task import Task
from stepwire_cli.account.calls import Calls
from stepwire_cli.account.endpoint import Endpoint
from stepwire_cli.account.errors import AccountError, NotThere
from stepwire_cli.extras import parts

MOST_LINES: Final = 500
_GROUPS: Final = (
    "McpLogs", "ExecutionEventsLogs", "InputRequestsLogs", "StatusChangesLogs",
    "ExpirationsLogs", "SweepLogs",
)  # fmt: skip
_FIELDS: Final = (
    "audit", "outcome", "source", "tool", "winner", "client", "follow_up_task_id", "message", "fault",
)  # fmt: skip
_MOST_LOOKS: Final = 30  # at the answer, a second apart
_RUNS: Final = frozenset({"Scheduled", "Running"})
_SLACK: Final = timedelta(minutes=1)  # clocks differ, and a line comes after what it tells of


@dataclass(frozen=True)
class LogLine:
    """A line of a function's log."""

    at: datetime
    function: str
    """As its folder is called."""
    members: Mapping[str, str]


@dataclass(frozen=True)
class Logs:
    """The logs of an endpoint's functions."""

    calls: Calls
    endpoint: Endpoint
    sleep: Callable[[float], None] = time.sleep

    def about(self, task: Task, at: datetime, problems: list[str]) -> list[LogLine]:
        """Return what was logged about a task until now, oldest first; what cannot be read is added to `problems`."""
        try:
            groups = dict(self._groups())
            query = self.calls.call(
                "logs",
                "StartQuery",
                logGroupNames=list(groups),
                startTime=int((task.created_at - _SLACK).timestamp()),
                endTime=int((at + _SLACK).timestamp()),
                queryString=_query_about(task),
                limit=MOST_LINES,
            )
            rows = self._answer(query["queryId"], problems)
        except AccountError as error:
            problems.append(f"the functions' logs: {error}")
            return []
        if len(rows) >= MOST_LINES:
            problems.append(f"the functions' logs: only the first {MOST_LINES} lines were read")
        return [_line(row, groups) for row in rows]

    def _groups(self) -> Iterator[tuple[str, str]]:
        """Yield the name of each log group that the stack has, and the function's that writes to it."""
        for logical_id in (*_GROUPS, *(one for part in parts("life") for one in part.LOGS)):
            try:
                yield self.endpoint.physical_id(logical_id), _function_of(logical_id)
            except NotThere:  # of a function that this stack has not
                continue

    def _answer(self, query: str, problems: list[str]) -> list[Mapping[str, str]]:
        found: Any = self.calls.call("logs", "GetQueryResults", queryId=query)
        for _ in range(_MOST_LOOKS):
            if found["status"] not in _RUNS:
                break
            self.sleep(1)
            found = self.calls.call("logs", "GetQueryResults", queryId=query)
        if found["status"] != "Complete":
            problems.append(f"the functions' logs: the query is {found['status']} after {_MOST_LOOKS} looks: try again")
        return [{one["field"]: one["value"] for one in row} for row in found["results"]]


def _query_about(task: Task) -> str:
    """Return the query: lines that name the task, and faults of its trace. Polls are left out, most are not logged."""
    trace = task.origin.trace
    of_trace = f' or (trace_id = "{trace.id}" and ispresent(fault))' if trace else ""
    return (
        f"fields @timestamp, @log, {', '.join(_fields())}"
        f' | filter task_id = "{task.task_id}" or task_digest = "{task_digest(task.task_id)}"{of_trace}'
        ' | filter not ispresent(audit) or audit != "polled"'
        " | sort @timestamp asc"
    )


def _fields() -> tuple[str, ...]:
    return (*_FIELDS, *(one for part in parts("life") for one in part.FIELDS))


def _function_of(logical_id: str) -> str:
    words = logical_id.removesuffix("Logs")
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in words).lstrip("_")


def _line(row: Mapping[str, str], groups: Mapping[str, str]) -> LogLine:
    at = datetime.fromisoformat(row["@timestamp"]).replace(tzinfo=UTC)
    group = row.get("@log", "").partition(":")[2]  # behind the account's number
    return LogLine(at, groups.get(group, group), {name: row[name] for name in _fields() if row.get(name)})
