"""What registered tools miss that only a call would show: an event of the end, an endpoint, a manifest.

A manifest that is wrong and a tag that is missing are told by function catalog, and not here.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stepwire.errors import CatalogError
from stepwire.manifests.reading import read_manifest
from stepwire_local.account import stub_machines, tasks
from stepwire_local.account.status_events import ENDS, unreported
from stepwire_local.cloudformation.resources.kinds import World
from stepwire_local.cloudformation.resources.parameters import endpoint_of, state_machines_of
from stepwire_local.iam.tags import tags_of

_CONSENT = "stepwire:endpoint"
_PREFIX = "EXECUTION_PREFIX"  # the variable of function mcp with the start of its executions' names


@dataclass(frozen=True)
class _Tool:
    """A registered tool."""

    name: str
    endpoint: str
    machines: tuple[str, ...]
    """ARNs: of one, or of the arms of a race; none where its manifest cannot be read."""
    text: str
    """Its manifest."""


def faults(worlds: Sequence[World]) -> list[str]:
    """Return a line for each thing that is missing; the first stack is the endpoint's."""
    endpoint, tools = worlds[0].stack, [tool for world in worlds for tool in _tools(world)]
    lines = [
        f"{one.name}: registered for the endpoint {one.endpoint}, and this one is {endpoint} (--name): it is not listed"
        for one in tools
        if one.endpoint != endpoint
    ]
    ours = [one for one in tools if one.endpoint == endpoint]
    return [*lines, *_without_end(worlds[0], ours), *_without_manifest(worlds, ours), *_doubtful_questions(ours)]


def _tools(world: World) -> list[_Tool]:
    found: list[_Tool] = []
    for name in world.parameters:
        if endpoint := endpoint_of(name):
            value = world.client("ssm").get_parameter(Name=name)["Parameter"]["Value"]
            found.append(_Tool(name.rpartition("/")[2], endpoint, state_machines_of(name, value, world), value))
    return found


def _without_end(world: World, tools: Iterable[_Tool]) -> list[str]:
    prefix = next((one.settings.variables[_PREFIX] for one in world.functions.values() if _is_mcp(one)), "")
    lines: list[str] = []
    for arn in dict.fromkeys(tasks.machine_of(arn) for one in tools for arn in one.machines):
        machine = tasks.found(arn)
        missing = unreported(arn, f"{prefix}x") if machine is not None and machine.type != "EXPRESS" else []
        if missing:
            which = "" if len(missing) == len(ENDS) else f" where it is {' or '.join(missing)}"
            lines.append(
                f"{tasks.names_of_target(arn)[0]}: no rule reports its end{which}; "
                "a poll a minute later or the sweep finds it"
            )
    return lines


def _is_mcp(function: Any) -> bool:
    return _PREFIX in function.settings.variables


def _without_manifest(worlds: Sequence[World], tools: Sequence[_Tool]) -> list[str]:
    """Name state machines beside the endpoint with its tag that are neither a tool nor started by another.

    None while a manifest cannot be read: it may name them.
    """
    if not all(one.machines for one in tools):
        return []
    named = {tasks.machine_of(arn) for one in tools for arn in one.machines}
    machines = [arn for world in worlds[1:] for arn in world.state_machines]
    nested = {task.nested for arn in machines for task in tasks.tasks_in(arn, _definition(arn))}
    return [
        f"{tasks.names_of_target(arn)[0]}: has the tag of the endpoint, and no manifest names it: it is no tool"
        for arn in machines
        if tags_of(arn).get(_CONSENT) == worlds[0].stack and arn not in named | nested
    ]


def _doubtful_questions(tools: Iterable[_Tool]) -> Iterator[str]:
    """Name what is doubtful about tools beside the definitions of their state machines."""
    for one in tools:
        try:
            manifest = read_manifest(one.text)
        except CatalogError:
            continue
        machines = [tasks.found(tasks.machine_of(arn)) for arn in one.machines]
        texts = [stub_machines.definition() if each is None else each.definition for each in machines]
        if stub_machines.definition() in texts:  # what a stub stands for may ask anything
            continue
        doubts = manifest.doubts([*map(json.loads, texts)])
        yield from (f"{one.name}: {found.words}" for found in doubts if not found.is_advice)


def _definition(arn: str) -> Mapping[str, Any]:
    machine = tasks.found(arn)
    return json.loads(machine.definition) if machine is not None else {}
