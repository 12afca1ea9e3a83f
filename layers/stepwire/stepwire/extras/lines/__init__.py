"""Lines: a tool's limit of executions at once, and the order in which its callers' calls wait for a turn."""

from typing import TYPE_CHECKING, Any, Final

from stepwire.hooks import EventType, Extra, Gates, Ground, Items, ManifestFields, OnChange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from stepwire.aws.storage.table import Item, Table
    from stepwire.background.commands import Commands
    from stepwire.catalog.tools import Caller, Catalog, Tool
    from stepwire.changes import BusEvent, ChangeServices, TaskChange
    from stepwire.engine.assembly import Ports
    from stepwire.engine.recorder import Recorder
    from stepwire.extras.lines.turns import Turns
    from stepwire.json_text import JsonObject
    from stepwire.principal import Principal
    from stepwire.tasks.line import LineTerms


def _line(catalog: "Catalog", tool: "Tool", arguments: "JsonObject", caller: "Caller") -> "LineTerms | None":
    if "lines" not in tool.extras:
        return None
    from stepwire.extras.lines.limits import line_of

    return line_of(catalog, tool, arguments, caller)


def gate_of(table: "Table") -> "Callable[[Recorder, Ports], Turns]":
    """Return what builds the gate, with the lines in a table."""
    from stepwire.extras.lines.storage import DynamoDbLines
    from stepwire.extras.lines.turns import Turns

    def build(recorder: "Recorder", ports: "Ports") -> Turns:
        return Turns(DynamoDbLines(table), recorder, ports.workflows, ports.wake_ups, ports.report)

    return build


def _commands(_ground: Ground) -> "Commands":
    from stepwire.extras.lines.commands import COMMANDS

    return COMMANDS


def _elsewhere(owner: "Principal", item: "Item") -> "Iterator[Item]":
    """Yield the key of what a task's line remembers of its caller."""
    from stepwire.aws.storage.items import TASK_PREFIX, task_of
    from stepwire.extras.lines.storage import share_key

    if item["sk"]["S"].startswith(TASK_PREFIX) and (line := task_of(item).line) is not None:
        yield share_key(line.line, owner)


def _fields() -> ManifestFields[Any]:
    from stepwire.extras.lines.manifest import FIELDS

    return FIELDS


def _tell(_services: "ChangeServices", change: "TaskChange") -> "Iterable[BusEvent]":
    from stepwire.extras.lines.places import bus_events

    return bus_events(change)


def _types() -> tuple[EventType, ...]:
    from stepwire.extras.lines.places import TYPES

    return TYPES


EXTRA: Final = Extra(
    name="lines",
    gate=Gates(line=_line, build=gate_of),
    on_change=OnChange(tell=_tell, types=_types),
    items=Items(elsewhere=_elsewhere),
    commands=_commands,
    fields=_fields,
)
