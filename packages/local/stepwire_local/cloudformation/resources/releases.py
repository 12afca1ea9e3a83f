"""Releases of a function: versions, aliases and traffic shifting. Here there is only one version."""

from stepwire_local.cloudformation.resources.kinds import Created, Kind, Resource, World, keep
from stepwire_local.errors import TemplateError
from stepwire_local.lambdas.functions import Function

_ONLY = "1"  # the version that is here


def _version(resource: Resource, world: World) -> Created:
    return Created(f"{_function(resource, world).settings.arn}:{_ONLY}", {"Version": _ONLY})


def _alias(resource: Resource, world: World) -> Created:
    function, name = _function(resource, world), resource.properties["Name"]
    function.aliases.add(name)
    arn = f"{function.settings.arn}:{name}"
    return Created(arn, {"AliasArn": arn})


def _function(resource: Resource, world: World) -> Function:
    named: str = resource.properties["FunctionName"]
    for function in world.functions.values():
        if named in (function.settings.name, function.settings.arn):
            return function
    raise TemplateError(f"{resource.logical_id}: {named} is not a function of this template.")


def _nothing(resource: Resource, world: World) -> Created:
    return Created(world.name(resource))


_NOTE = "releases: an alias leads to the one version that there is, and none starts from a snapshot"

KINDS = {
    "AWS::Lambda::Version": Kind(_version, served=("FunctionName",), note=_NOTE, update=keep),
    "AWS::Lambda::Alias": Kind(
        _alias, served=("FunctionName", "Name"), harmless=("FunctionVersion",), note=_NOTE, update=keep
    ),
    "AWS::CodeDeploy::Application": Kind(_nothing, harmless=("ComputePlatform",), note=_NOTE, update=keep),
    "AWS::CodeDeploy::DeploymentGroup": Kind(
        _nothing,
        harmless=(
            "AlarmConfiguration",
            "ApplicationName",
            "AutoRollbackConfiguration",
            "DeploymentConfigName",
            "DeploymentStyle",
            "ServiceRoleArn",
        ),
        note=_NOTE,
        update=keep,
    ),
}
