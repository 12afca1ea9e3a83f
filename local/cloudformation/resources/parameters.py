"""Systems Manager parameters."""

from local.cloudformation.resources.kinds import Created, Kind, Resource, World


def _parameter(resource: Resource, world: World) -> Created:
    properties = resource.properties
    name: str = properties.get("Name", world.name(resource))
    settings = {"Type": properties["Type"], "Tier": properties.get("Tier", "Standard")}
    world.client("ssm").put_parameter(Name=name, Value=properties["Value"], **settings)
    world.parameters.append(name)
    return Created(name, {"Type": properties["Type"], "Value": properties["Value"]})


KINDS = {
    "AWS::SSM::Parameter": Kind(
        _parameter,
        served=("Name", "Type", "Value", "Tier"),
        harmless=("AllowedPattern", "DataType"),
    ),
}
