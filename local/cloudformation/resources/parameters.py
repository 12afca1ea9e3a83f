"""Systems Manager parameters."""

from typing import Any

from local.cloudformation.resources.kinds import Change, Created, Kind, Resource, World


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
    world.client("ssm").put_parameter(Name=name, Value=properties["Value"], **settings)
    return Created(name, {"Type": properties["Type"], "Value": properties["Value"]})


def _name(resource: Resource, world: World) -> str:
    return resource.properties.get("Name", world.name(resource))


KINDS = {
    "AWS::SSM::Parameter": Kind(
        _parameter,
        served=("Name", "Type", "Value", "Tier"),
        harmless=("AllowedPattern", "DataType"),
        update=_changed,
        remove=_removed,
    ),
}
