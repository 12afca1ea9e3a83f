"""What of the workflows runs here, what stubs answer for, and what has neither.

The rule: one line for each function, action or state machine that cannot run, however many states use it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stepwire_local.account import stub_machines, tasks
from stepwire_local.account.tasks import Task
from stepwire_local.cloudformation.objects import FOLDER as BUCKETS
from stepwire_local.cloudformation.resources.kinds import World
from stepwire_local.stubs.book import Stub
from stepwire_local.stubs.names import key, nearest, suggested
from stepwire_local.stubs.owners import owned

_SHOWN = 3  # states of a line
_Key = tuple[str, Path]  # an option of the command line is in the book of each template


@dataclass(frozen=True)
class Coverage:
    """Lines for people."""

    missing: Sequence[str]
    """What cannot run and has no stub."""
    stubbed: Sequence[str]
    """What each stub answers for."""
    unmatched: Sequence[str]
    """Stubs that answer for nothing."""
    awaited: Sequence[str] = ()
    """What runs, and waits for something that nothing here may send or have."""


@dataclass
class _Notes:
    missing: dict[tuple[str, str], list[str]] = field(default_factory=dict[tuple[str, str], list[str]])
    """Where something is used, by what tells of it: the reason that it is missing, and the stub to write."""
    uses: dict[_Key, list[str]] = field(default_factory=dict[_Key, list[str]])
    """What a stub answers for."""
    awaited: list[str] = field(default_factory=list[str])
    """What runs and waits, each with its stub."""
    known: list[str] = field(default_factory=list[str])
    """Every name that a stub could have."""

    def use(self, stub: Stub, what: str) -> None:
        places = self.uses.setdefault(_key(stub), [])
        if what not in places:
            places.append(what)

    def miss(self, reason: str, name: str, where: str = "") -> None:
        self.known.append(name)
        self.missing.setdefault((reason, suggested(name)), []).append(where)


def coverage(worlds: Iterable[World]) -> Coverage:
    """Return what runs, what is stubbed and what is missing in some stacks."""
    notes, stubs = _Notes(), dict[_Key, Stub]()
    for world in worlds:
        stubs |= {_key(stub): stub for stub in world.stubs.all()}
        _look_at_functions(world, notes)
        for arn in (*world.state_machines, *stub_machines.made_for(world.stubs)):
            _look_at_machine(world, arn, notes)
    missing = [f"{why}{_listed(filter(None, places))}: {stub}" for (why, stub), places in notes.missing.items()]
    stubbed = [f"{stub.path}{_listed(notes.uses[name])}" for name, stub in stubs.items() if name in notes.uses]
    unmatched = [_unmatched(stub, notes.known) for name, stub in stubs.items() if name not in notes.uses]
    return Coverage(missing, stubbed, unmatched, notes.awaited)


def _look_at_functions(world: World, notes: _Notes) -> None:
    for logical_id, function in world.functions.items():
        names = tasks.names_of_target(function.arn)
        notes.known.append(logical_id)
        if stub := world.stubs.find(names):
            notes.use(stub, f"the function {logical_id}")
        elif why := function.settings.not_run:
            notes.miss(f"the function {logical_id} cannot run here: {why}", logical_id)


def _look_at_machine(world: World, arn: str, notes: _Notes) -> None:
    names, machine = tasks.names_of_target(arn), tasks.found(arn)
    if machine is None:  # somebody deleted it since
        return
    notes.known += [names[0], arn]
    stub = world.stubs.find(names)
    definition: Mapping[str, object] = json.loads(machine.definition)
    if machine.definition == stub_machines.definition():
        if stub is None:
            notes.miss(f"the definition of {names[0]} is not on this disk", names[0])
        else:
            notes.use(stub, f"the state machine {names[0]}")
        return
    for task in tasks.tasks_in(arn, definition):
        _look_at_task(world, task, machine.roleArn, notes)


def _look_at_task(world: World, task: Task, role: str, notes: _Notes) -> None:
    names = tasks.names_of(task)
    where = f"{tasks.names_of_target(task.machine)[0]}/{task.state}"
    notes.known += [task.state, task.action, *tasks.names_of_target(task.nested)]
    stub = world.stubs.find(names)
    nested = world.stubs.find(tasks.names_of_target(task.nested))
    if stub is not None:
        notes.use(stub, where)
    elif nested is not None and task.nested is not None:
        notes.use(nested, f"the state machine {tasks.names_of_target(task.nested)[0]}")
    elif reason := tasks.problem(task, role):
        notes.miss(reason, tasks.best_name(task), where)
    elif reason := awaits(world, task):
        notes.awaited.append(f"{where} {reason}: {suggested(where)}")


def awaits(world: World, task: Task) -> str | None:
    """Return what a task that runs here waits for; None if for nothing, or for a client's answer."""
    if task.is_item_reader:
        beside = world.stubs.folder.parent / BUCKETS if world.stubs.folder else None
        has_files = beside is not None and beside.is_dir()
        return None if has_files else f"reads its items from S3: put them into the folder {BUCKETS}/<bucket>/"
    if not task.awaits_token or _asks_a_client(world, task):
        return None
    return f"waits until something sends its task token, which {task.action} gets"


def _asks_a_client(world: World, task: Task) -> bool:
    """Return whether the endpoint's own function gets the token: a client answers."""
    whose = owned(task.function) if task.function else None
    return whose is not None and whose.book is not world.stubs and "InputRequests" in whose.name


def _key(stub: Stub) -> _Key:
    return stub.name, stub.path


def _listed(places: Iterable[str]) -> str:
    found = list(places)
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f" ({', '.join(found[:_SHOWN])}{more})" if found else ""


def _unmatched(stub: Stub, known: Iterable[str]) -> str:
    similar = nearest(stub.name, known)
    if similar is not None and key(similar) == key(stub.name):
        return f"{stub.path}: nothing uses it: what asks for {similar} has another stub, or is of another template"
    hint = f"; did you mean {similar}?" if similar else ""
    return f"{stub.path}: nothing here asks for {stub.name}{hint}"
