"""What each step of a task costs in DynamoDB's units, by the size of its arguments and of its result: one table.

The rule: nothing is estimated. The real store runs on a simulated table, and each of its calls is measured by the size
of the items that it reads and writes, as DynamoDB's documentation says. tests/contracts/test_units.py has the limits.

    python -m benchmarks.cost.units    # prints the table of docs/performance.md
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from io import BytesIO
from typing import Any, Final

from msgspec.structs import replace

from stepwire.aws.s3 import LargeResults
from stepwire.aws.storage.table import Item, Table
from stepwire.aws.storage.task_store import task_store
from stepwire.tasks.events import ProgressReported, RunEnded, StateEntered, WorkChecked, WorkCompleted
from stepwire.tasks.lifecycle import advance
from stepwire.tasks.runs import RunEnd, RunState
from stepwire.tasks.task import Completed, Progress, ResultElsewhere, Terms, ToolResult
from stepwire_local.account.engine import shared_account
from tests.kits import OPTIONAL, World
from tests.simulated.dynamodb import quick_dynamodb_client
from tests.tables import new_table, read_units, table_behind, write_units

KB: Final = 1_024
ARGUMENTS: Final = (100, 10 * KB, 256 * KB)
"""Bytes of arguments; 256 KB is the maximum."""
RESULTS: Final = (100, 10 * KB, 256 * KB, 1_024 * KB)
"""Bytes of a result, as it is stored. The last is too large for an item, and is an object in S3."""
_INDEX: Final = ("open", "checked_at", "pk", "sk")


@dataclass(frozen=True)
class Units:
    """What one step costs."""

    read: int = 0
    """Read units, strongly consistent."""
    written: int = 0
    """Write units of the table."""
    index: int = 0
    """Write units of the index `neglected`."""
    calls: tuple[str, ...] = ()


@dataclass(frozen=True)
class TaskUnits:
    """What the steps of one task cost."""

    creation: Units
    poll: Units
    check: Units
    """A check that finds another state, in the next five minutes."""
    progress: Units
    end: Units
    ended_poll: Units
    """A poll of the ended task, which shows no result."""
    result: Units
    """Reading the result when somebody asks for it."""


@dataclass
class Meter:
    """A client of DynamoDB, and of S3 with objects in memory, that measures its calls."""

    client: Any
    table: str
    done: Units = field(default_factory=Units)
    objects: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def put_object(self, **given: Any) -> Any:
        """Write an object."""
        self.objects[given["Key"]] = given["Body"]
        self._add("PutObject")
        return {}

    def get_object(self, **given: Any) -> Any:
        """Read an object."""
        self._add("GetObject")
        return {"Body": BytesIO(self.objects[given["Key"]])}

    def put_item(self, **given: Any) -> Any:
        """Write an item: it costs as much as the larger of both."""
        before, after = self._stored(given["Item"]), given["Item"]
        made = self.client.put_item(**given)
        larger = max(write_units(before) if before else 0, write_units(after))
        self._add("PutItem", written=larger, index=_index_writes(before, after))
        return made

    def get_item(self, **given: Any) -> Any:
        """Read an item."""
        found = self.client.get_item(**given)
        self._add("GetItem", read=read_units(found["Item"]) if "Item" in found else 1)
        return found

    def _stored(self, key: Item) -> Item:
        items: Iterator[Item] = (one.to_json()["Attributes"] for one in table_behind(self.table).all_items())
        same = [one for one in items if (one["pk"], one["sk"]) == (key["pk"], key["sk"])]
        return same[0] if same else {}

    def _add(self, call: str, *, read: int = 0, written: int = 0, index: int = 0) -> None:
        done = self.done
        self.done = Units(done.read + read, done.written + written, done.index + index, (*done.calls, call))


def _index_writes(before: Item, after: Item) -> int:
    """Count the writes of the index: an entry whose key changes is deleted and written again."""
    was, is_there = "open" in before, "open" in after
    if was and is_there:
        return 0 if all(before[name] == after[name] for name in _INDEX) else 2
    return int(was) + int(is_there)


def units_of(arguments: int, result: int) -> TaskUnits:
    """Run a task with arguments and a result of so many bytes, and measure each step."""
    table = new_table()
    meter = Meter(quick_dynamodb_client(), table)
    client: Any = meter
    store = task_store(Table(table, lambda: client), lambda: LargeResults("large-results", client))

    def measured(step: Callable[[], Any]) -> tuple[Any, Units]:
        meter.done = Units()
        return step(), meter.done

    task = World().call(replace(OPTIONAL, shows_state=True))
    task = replace(task, version=0, work=replace(task.work, terms=Terms("x" * arguments)))
    created, creation = measured(lambda: store.create(task))
    _, poll = measured(lambda: store.load(task.key))
    later = task.created_at + timedelta(minutes=5)
    seen = advance(created, WorkChecked(StateEntered("CountTheRows")), later).task
    checked, check = measured(lambda: store.save(seen))
    reported = advance(checked, ProgressReported(Progress(40, 100), "40 of 100 rows"), later).task
    going_on, progress = measured(lambda: store.save(reported))
    ended_task = advance(going_on, _success(result), later).task
    ended, end = measured(lambda: (store.parts.terms_of(going_on), store.save(ended_task))[1])
    _, ended_poll = measured(lambda: store.load(task.key))
    kept = ended.status.result if isinstance(ended.status, Completed) else None
    _, fetched = measured(lambda: store.parts.result_of(ended, kept) if isinstance(kept, ResultElsewhere) else None)
    return TaskUnits(creation, poll, check, progress, end, ended_poll, fetched)


def _success(result: int) -> RunEnded:
    end = RunEnd(0, execution=1, redrives=0, state=RunState.SUCCEEDED)
    return RunEnded(end, WorkCompleted(ToolResult("x" * result, is_error=False)))


def table() -> str:
    """Return the table as Markdown."""
    head = ["arguments", "result", "creation", "poll", "check", "progress", "end", "poll, ended", "its result"]
    rows = [[_size(one), _size(other), *_cells(units_of(one, other))] for one in ARGUMENTS for other in RESULTS]
    lines = [head, ["--:"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cells(units: TaskUnits) -> list[str]:
    poll, ended = (f"{one.read} r" for one in (units.poll, units.ended_poll))
    result = "a GetObject" if "GetObject" in units.result.calls else f"{units.result.read} r"
    written = [f"{one.written} w" for one in (units.creation, units.check, units.progress)]
    end = f"{units.end.written} w" + (f", {units.end.read} r" if units.end.read else "")
    end += ", a PutObject" if "PutObject" in units.end.calls else ""
    return [written[0], poll, *written[1:], end, ended, result]


def _size(size: int) -> str:
    if size < KB:
        return f"{size} B"
    return f"{size // KB} KB" if size < KB * KB else f"{size // (KB * KB)} MB"


if __name__ == "__main__":
    with shared_account():
        sys.stdout.write(table())
