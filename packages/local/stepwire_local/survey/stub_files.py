"""Writes files of stubs for what cannot run here, with answers made up from what definitions and code read of them.

The rule: a file that is there is never written again, and no name gets a second stub.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from stepwire.json_text import objects_in
from stepwire_local.account import stub_machines, tasks
from stepwire_local.account.tasks import Task
from stepwire_local.cloudformation.resources.kinds import World
from stepwire_local.errors import StubError
from stepwire_local.lambdas import functions
from stepwire_local.stubs.names import key
from stepwire_local.survey.code_reads import mark_reads
from stepwire_local.survey.coverage import awaits
from stepwire_local.survey.examples import Examples
from stepwire_local.survey.shapes import Shape
from stepwire_wrap.definitions.services import answer_of


def write_stubs(world: World, *, every: bool) -> list[Path]:
    """Write the stubs that a stack lacks, and return their files.

    `every`: also of tasks that run here, but not of state machines that are here.

    Raises:
        StubError: a file cannot be written.
    """
    if world.stubs.folder is None:
        return []
    shapes = _shapes(world, every=every)
    written = [_write(world.stubs.folder, name, _answer(shape)) for name, shape in shapes.items()]
    return [path for path in written if path is not None]


def _shapes(world: World, *, every: bool) -> Mapping[str, Shape]:
    """Return the shapes of the answers that are missing, by the names of their stubs."""
    shapes = {name: Shape() for name in _idle(world)}
    services = list[tuple[Task, Shape]]()

    def answer(task: Task) -> Shape | None:
        name = _name(world, task, every=every)
        if not name:
            return None
        shape = shapes.setdefault(name, Shape())
        if name == task.action:
            services.append((task, shape))
        return shape

    for arn in world.state_machines:
        machine = tasks.found(arn)
        if machine is None or machine.definition == stub_machines.definition():
            continue
        definition: dict[str, Any] = json.loads(machine.definition)
        Examples(arn, answer, _read_event).read(definition)
        for task in tasks.tasks_in(arn, definition):  # those that no way leads to
            answer(task)
    for task, shape in services:
        shape.prefer_types(answer_of(task.resource, shape.names))
    return shapes


def _read_event(task: Task, event: Shape) -> None:
    """Let the event of a function that is here have what its code reads."""
    try:
        settings = functions.registered(task.function or "").settings
    except KeyError:
        return
    if not settings.not_run:
        mark_reads(settings, event)


def _idle(world: World) -> Iterator[str]:
    """Yield the functions that cannot run here, and the state machines without a definition."""
    for logical_id, function in world.functions.items():
        if function.settings.not_run and world.stubs.find(tasks.names_of_target(function.arn)) is None:
            yield logical_id
    for arn in world.state_machines:
        machine, names = tasks.found(arn), tasks.names_of_target(arn)
        if machine is not None and machine.definition == stub_machines.definition() and not world.stubs.find(names):
            yield names[0]


def _name(world: World, task: Task, *, every: bool) -> str | None:
    """Return the name under which to write a task's stub; None if it needs none."""
    nested = world.stubs.find(tasks.names_of_target(task.nested))
    if world.stubs.find(tasks.names_of(task)) is not None or nested is not None:
        return None
    machine = tasks.found(task.machine)
    if tasks.problem(task, machine.roleArn if machine else ""):
        return tasks.best_name(task)
    is_free = every and task.nested is None and not (task.awaits_token and awaits(world, task) is None)
    return f"{tasks.names_of_target(task.machine)[0]}/{task.state}" if is_free or awaits(world, task) else None


def _answer(shape: Shape) -> Any:
    """Return an example of an answer; one that nothing reads is an empty object."""
    found: Any = shape.example()
    if any({"Return", "Throw"} & set(one) for one in objects_in(found)):
        return {"Return": found}
    return {} if found == Shape().example() else found


def _write(folder: Path, name: str, answer: Any) -> Path | None:
    path = folder / f"{name.replace(':', '/')}.json"
    if any(key(str(one.relative_to(folder).with_suffix(""))) == key(name) for one in folder.rglob("*.*")):
        return None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(answer, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise StubError(f"{path} cannot be written: {error}") from error
    return path
