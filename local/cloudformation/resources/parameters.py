"""Systems Manager parameters."""

import re
from collections.abc import Mapping
from typing import Any, Final, cast

import yaml

from local.account import stub_machines
from local.account.tasks import machine_of, names_of_target
from local.cloudformation.resources.kinds import Change, Created, Kind, Resource, World

_TOOL: Final = re.compile(r"/stepwire/(?P<endpoint>[^/]+)/tools/")
_COLONS: Final = 6  # in the ARN of a state machine, or more


def _parameter(resource: Resource, world: World) -> Created:
    created = _put(resource, world)
    world.parameters.append(created.reference)
    return created


def _changed(change: Change, world: World) -> Created:
    if _name(change.before, world) == _name(change.after, world):
        return _put(change.after, world, Overwrite=True)
    created = _parameter(change.after, world)
    _removed(change.before, change.created, world)
    return created


def _removed(_resource: Resource, created: Created, world: World) -> None:
    world.parameters.remove(created.reference)
    world.client("ssm").delete_parameter(Name=created.reference)


def _put(resource: Resource, world: World, **more: Any) -> Created:
    properties = resource.properties
    settings = {"Type": properties["Type"], "Tier": properties.get("Tier", "Standard"), **more}
    name = _name(resource, world)
    if arn := state_machine_of(name, properties["Value"], world):
        stub_machines.ensure(arn, world.stubs)
    world.client("ssm").put_parameter(Name=name, Value=properties["Value"], **settings)
    return Created(name, {"Type": properties["Type"], "Value": properties["Value"]})


def endpoint_of(name: str) -> str | None:
    """Return the endpoint for which a parameter registers a tool; None if it registers none."""
    found = _TOOL.match(name)
    return found["endpoint"] if found else None


def state_machine_of(name: str, value: object, world: World) -> str | None:
    """Return the ARN of the state machine that a manifest names; None if it is none, or a broken one."""
    if endpoint_of(name) is None:
        return None
    try:
        read = yaml.safe_load(str(value))
    except (yaml.YAMLError, ValueError):
        return None  # function catalog says what is wrong
    named: object = cast("Mapping[str, Any]", read).get("state_machine") if isinstance(read, Mapping) else None
    if not isinstance(named, str) or not named:
        return None
    arn = named if named.startswith("arn:") else world.arn("states", f"stateMachine:{named}")
    return arn if arn.count(":") >= _COLONS else None


def _stub(logical_id: str, properties: Mapping[str, Any], world: World) -> str:
    name = properties.get("Name", f"{world.stack}-{logical_id}")
    arn = state_machine_of(str(name), properties.get("Value", ""), world)
    found = world.stubs.find([arn, *names_of_target(machine_of(arn))]) if arn else None
    return str(found.path) if found else ""


def _name(resource: Resource, world: World) -> str:
    return resource.properties.get("Name", world.name(resource))


KINDS = {
    "AWS::SSM::Parameter": Kind(
        _parameter,
        served=("Name", "Type", "Value", "Tier"),
        harmless=("AllowedPattern", "DataType"),
        update=_changed,
        remove=_removed,
        stub=_stub,
    ),
}
