"""Systems Manager parameters."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, cast

from stepwire.manifests.yaml_text import read_template
from stepwire_local.account import stub_machines
from stepwire_local.account.tasks import machine_of, names_of_target
from stepwire_local.cloudformation.resources.kinds import Change, Created, Kind, Resource, World

_TOOL: Final = re.compile(r"/stepwire/(?P<endpoint>[^/]+)/tools/[^/]*")  # below it are the files beside it
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
    for arn in state_machines_of(name, properties["Value"], world):
        stub_machines.ensure(arn, world.stubs)
    world.client("ssm").put_parameter(Name=name, Value=properties["Value"], **settings)
    return Created(name, {"Type": properties["Type"], "Value": properties["Value"]})


def endpoint_of(name: str) -> str | None:
    """Return the endpoint for which a parameter registers a tool; None if it registers none."""
    found = _TOOL.fullmatch(name)
    return found["endpoint"] if found else None


def state_machines_of(name: str, value: object, world: World) -> tuple[str, ...]:
    """Return the ARNs of the state machines that a manifest names; none if it is none, or a broken one."""
    if endpoint_of(name) is None:
        return ()
    try:
        read = _read(str(value))
    except ValueError:
        return ()  # function catalog says what is wrong
    arns = (
        one if one.startswith("arn:") else world.arn("states", f"stateMachine:{one}")
        for one in dict.fromkeys(_named(read))
    )
    return tuple(arn for arn in arns if arn.count(":") >= _COLONS)


@lru_cache(maxsize=256)
def _read(value: str) -> object:
    return read_template(value)


def _named(manifest: object) -> Iterator[str]:
    """Yield the names of the state machines of a tool, and of the arms of its race."""
    if not isinstance(manifest, Mapping):
        return
    fields = cast("Mapping[str, Any]", manifest)
    race: Any = fields.get("race")
    arms: Any = cast("Mapping[str, Any]", race).get("arms") if isinstance(race, Mapping) else None
    for one in (fields, *(cast("list[Any]", arms) if isinstance(arms, list) else ())):
        named: object = cast("Mapping[str, Any]", one).get("state_machine") if isinstance(one, Mapping) else None
        if isinstance(named, str) and named:
            yield named


def _stub(logical_id: str, properties: Mapping[str, Any], world: World) -> str:
    name = properties.get("Name", f"{world.stack}-{logical_id}")
    arns = state_machines_of(str(name), properties.get("Value", ""), world)
    found = (world.stubs.find([arn, *names_of_target(machine_of(arn))]) for arn in arns)
    return ", ".join(str(one.path) for one in found if one)


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
