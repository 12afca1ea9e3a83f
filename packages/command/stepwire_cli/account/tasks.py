"""A task of any caller, read as its operator: the item in the endpoint's table, and its execution.

The rule: nothing is written, and no data of the caller is read from Step Functions unless it is asked for.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from itertools import chain
from typing import Any, Final, cast

from msgspec.structs import replace

from stepwire.aws.step_functions import execution_arn_of
from stepwire.aws.storage.items import (
    NEGLECTED_INDEX,
    SHARDS,
    TASK_PREFIX,
    item_key,
    part_key,
    result_of,
    task_of,
    terms_of,
)
from stepwire.aws.storage.table import Item
from stepwire.principal import PRINCIPAL_PATTERN, Principal
from stepwire.tasks.ids import TaskId, TaskKey, task_id_of, task_key_from_execution
from stepwire.tasks.task import Completed, Execution, ResultElsewhere, Task, TermsElsewhere
from stepwire_cli.account.calls import Calls
from stepwire_cli.account.errors import AccountError, NotThere
from stepwire_cli.account.histories import Event, History, history_of
from stepwire_cli.exits import CommandError

_STATES: Final = "stepfunctions"
_REGION: Final = 3  # part of an ARN
_PAGE: Final = 200  # events
# Policies of operators who may not read tasks allow no other search (policies.py).
_KEYS_OF_THE_TASK: Final[dict[str, Any]] = {
    "FilterExpression": "sk = :sk",
    "ProjectionExpression": "pk, sk",
    "Select": "SPECIFIC_ATTRIBUTES",
}


def check_principal(principal: str | None) -> None:
    """Refuse what cannot be the principal of a task's caller, if one is named.

    Raises:
        CommandError: it is none.
    """
    if principal is not None and not PRINCIPAL_PATTERN.fullmatch(principal):
        raise CommandError(f"{principal[:100]!r} is no principal: it has 32 hexadecimal digits, as in the log.")


class Fate(Enum):
    """How an execution stands, as far as it is known."""

    RUNNING = "RUNNING"
    PENDING_REDRIVE = "PENDING_REDRIVE"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    TIMED_OUT = "TIMED_OUT"
    ABORTED = "ABORTED"
    MISSING = "MISSING"
    """There is none of this name: it has not been started, or it ended more than 90 days ago."""
    UNKNOWN = "UNKNOWN"
    """It may not be read."""

    @property
    def has_ended(self) -> bool:
        """Tell whether it will do no more."""
        return self in (Fate.SUCCEEDED, Fate.FAILED, Fate.TIMED_OUT, Fate.ABORTED)


@dataclass(frozen=True)
class Items:
    """How far a Distributed Map is."""

    done: int
    total: int
    failed: int


@dataclass(frozen=True)
class Run:
    """A task's execution."""

    arn: str
    fate: Fate
    began: datetime | None = None
    ended: datetime | None = None
    redrives: int = 0
    output: str | None = None
    """JSON text, if it was asked for."""
    history: History = field(default_factory=History)
    maps: dict[str, Items] = field(default_factory=dict[str, Items])
    """The Distributed Maps of open states, by the ARNs of their Map Runs."""
    problems: tuple[str, ...] = ()
    """What could not be read, one line each."""


@dataclass(frozen=True)
class Tasks:
    """The tasks of an endpoint."""

    calls: Calls
    table: str
    watch: Callable[[int], None] = lambda _items: None
    """Gets how many items of the table have been searched."""

    def find(self, text: str, owner: str | None = None) -> Task:
        """Return a task by its id, or by the name or the ARN of its execution.

        Without the owner, the principal that called the tool, the table is searched.

        Raises:
            CommandError: it is none of these.
            NotThere: there is no such task.
            AccountError: the table may not be read.
        """
        key = self.key_of(text, owner)
        item = self._item(item_key(key))
        if item is None:
            raise NotThere(_no_such(key.task_id, self.table))
        return task_of(item)

    def key_of(self, text: str, owner: str | None = None) -> TaskKey:
        """Return the key of a task, as `find` does; the table is not read if the owner is known."""
        key = _key_of(text)
        if owner is not None:
            return TaskKey(Principal(owner), key.task_id)
        return key if key.owner else self._searched(key.task_id)

    def with_data(self, task: Task) -> Task:
        """Return a task with the terms and the result that are kept beside it; what is gone stays away."""
        terms, status = task.work.terms, task.status
        if isinstance(terms, TermsElsewhere) and (item := self._item(part_key("terms", task.key, terms.place))):
            task = replace(task, work=replace(task.work, terms=terms_of(item)))
        if isinstance(status, Completed) and isinstance(kept := status.result, ResultElsewhere):
            item = self._item(part_key("result", task.key, kept.place))
            task = replace(task, status=replace(status, result=result_of(item, kept))) if item else task
        return task

    def _item(self, key: Item) -> Item | None:
        found = self.calls.call("dynamodb", "GetItem", TableName=self.table, Key=key, ConsistentRead=True)
        return cast(Item | None, found.get("Item"))

    def _searched(self, task_id: TaskId) -> TaskKey:
        """Find the owner: in the index of the tasks that have not ended, then in the whole table."""
        for item in chain(self._open(task_id), self._all(task_id)):
            return TaskKey(Principal(item["pk"]["S"]), task_id)
        raise NotThere(_no_such(task_id, self.table))

    def _open(self, task_id: TaskId) -> Iterator[Item]:
        for shard in SHARDS:
            values = {":shard": {"S": shard}, ":sk": {"S": TASK_PREFIX + task_id}}
            yield from self._pages(
                "Query",
                IndexName=NEGLECTED_INDEX,
                KeyConditionExpression="#open = :shard",
                ExpressionAttributeNames={"#open": "open"},
                ExpressionAttributeValues=values,
                **_KEYS_OF_THE_TASK,
            )

    def _all(self, task_id: TaskId) -> Iterator[Item]:
        yield from self._pages(
            "Scan",
            ConsistentRead=True,
            ExpressionAttributeValues={":sk": {"S": TASK_PREFIX + task_id}},
            **_KEYS_OF_THE_TASK,
        )

    def _pages(self, operation: str, **given: Any) -> Iterator[Item]:
        searched = 0
        for page in self.calls.table_pages(operation, TableName=self.table, **given):
            searched += int(page.get("ScannedCount", 0))
            self.watch(searched)
            yield from page["Items"]


def _key_of(text: str) -> TaskKey:
    """Return the key that a text has; the owner is empty where the text does not say it."""
    name = text.rpartition(":")[2]
    if (key := task_key_from_execution(name)) is not None:
        return key
    if (task_id := task_id_of(text)) is not None:
        return TaskKey(Principal(""), task_id)
    raise CommandError(
        f"{text[:100]!r} is no id of a task: it has 36 digits and small letters. The name or the ARN of an execution "
        "that Stepwire started will do too."
    )


def _no_such(task_id: str, table: str) -> str:
    return (
        f"there is no task {task_id} in the table {table}: it has expired, or is of another endpoint (--stack), "
        "account or Region"
    )


@dataclass(frozen=True)
class Executions:
    """Reads the executions of tasks, also those of other accounts and Regions."""

    calls: Calls
    lines: int = 20
    """How many events to read at least, if there are as many."""

    def read(self, execution: Execution, *, with_output: bool = False) -> Run:
        """Return an execution with its newest events; what cannot be read is told."""
        arn = execution_arn_of(execution)
        problems: list[str] = []
        try:
            calls = self._calls_for(execution)
            answer = self._described(calls, arn, with_output=with_output)
        except NotThere:
            return Run(arn, Fate.MISSING)
        except AccountError as error:
            return Run(arn, Fate.UNKNOWN, problems=(str(error),))
        history = self._history(calls, arn, problems)
        maps = self._maps(calls, history, problems)
        return Run(
            arn,
            Fate(answer["status"]),
            _in_utc(answer.get("startDate")),
            _in_utc(answer.get("stopDate")),
            int(answer.get("redriveCount", 0)),
            answer.get("output"),
            history,
            maps,
            tuple(problems),
        )

    def _calls_for(self, execution: Execution) -> Calls:
        region, role = execution.state_machine_arn.split(":")[_REGION], execution.role
        return self.calls.elsewhere(region, role) if role else self.calls

    def _described(self, calls: Calls, arn: str, *, with_output: bool) -> Any:
        wanted = "ALL_DATA" if with_output else "METADATA_ONLY"
        return calls.call(_STATES, "DescribeExecution", executionArn=arn, includedData=wanted)

    def _history(self, calls: Calls, arn: str, problems: list[str]) -> History:
        """Return the newest events: at least so many lines need, and always some hundreds."""
        events, page = list[Event](), dict[str, Any]()
        pages = calls.pages(
            _STATES,
            "GetExecutionHistory",
            "nextToken",
            executionArn=arn,
            reverseOrder=True,
            maxResults=max(_PAGE, self.lines),
            includeExecutionData=False,
        )
        try:
            for page in pages:
                events += page["events"]
                if len(events) >= self.lines:
                    break
        except AccountError as error:
            problems.append(str(error))
            return history_of(events, is_cut=True)
        return history_of(events, is_cut=bool(page.get("nextToken")))

    def _maps(self, calls: Calls, history: History, problems: list[str]) -> dict[str, Items]:
        found: dict[str, Items] = {}
        for arn in filter(None, (one.map_run for one in history.open_states)):
            try:
                counts = calls.call(_STATES, "DescribeMapRun", mapRunArn=arn)["itemCounts"]
            except AccountError as error:
                problems.append(str(error))
                break
            failed = counts["failed"] + counts["timedOut"] + counts["aborted"]
            found[arn] = Items(counts["succeeded"] + failed, counts["total"], failed)
        return found


def _in_utc(at: datetime | None) -> datetime | None:
    return None if at is None else at.astimezone(UTC)
