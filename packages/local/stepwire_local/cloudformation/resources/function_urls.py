"""Function URLs, each on a port of its own."""

import hashlib
from typing import Any

from stepwire_local.cloudformation.resources.gateway import cors_of
from stepwire_local.cloudformation.resources.kinds import Change, Created, Kind, Resource, World
from stepwire_local.errors import TemplateError
from stepwire_local.gateway.function_urls import FunctionUrl, FunctionUrlSettings
from stepwire_local.lambdas.functions import Function

_BEHIND = 100  # ports between that of the API and the first URL's


def _url(resource: Resource, world: World) -> Created:
    properties = resource.properties
    function = _function(resource, world)
    cors: dict[str, Any] | None = properties.get("Cors")
    settings = FunctionUrlSettings(
        hashlib.sha256(world.name(resource).encode()).hexdigest()[:32],
        resource.logical_id,
        world.account,
        world.region,
        function,
        is_signed=_is_signed(resource),
        cors=cors_of(resource, cors) if cors else None,
    )
    if properties.get("InvokeMode") == "RESPONSE_STREAM":
        world.notes.append(f"{resource.logical_id}: its responses are not streamed: each is sent when it is complete")
    if settings.is_signed:
        world.notes.append(f"{resource.logical_id}: requests must be signed, but their signatures are not verified")
    taken = len(world.urls)
    served = FunctionUrl(settings, world.port + _BEHIND + taken if world.port else 0, world.answered)
    world.urls.append(served)
    return Created(function.arn, {"FunctionArn": function.arn, "FunctionUrl": served.url})


def _is_signed(resource: Resource) -> bool:
    given = resource.properties["AuthType"]
    if given not in ("NONE", "AWS_IAM"):
        raise TemplateError(f"{resource.logical_id}: AuthType is {given}, but must be NONE or AWS_IAM.")
    return given == "AWS_IAM"


def _function(resource: Resource, world: World) -> Function:
    named = str(resource.properties["TargetFunctionArn"])
    for function in world.functions.values():
        known = (function.settings.name, function.arn)
        if named in known or named.rpartition(":")[0] in known:  # an alias
            return function
    raise TemplateError(f"{resource.logical_id}: {named} is not a function of this template.")


def _changed(change: Change, world: World) -> Created:
    _removed(change.before, change.created, world)
    return _url(change.after, world)


def _removed(resource: Resource, _created: Created, world: World) -> None:
    for url in [one for one in world.urls if one.settings.name == resource.logical_id]:
        world.urls.remove(url)
        url.stop()


KINDS = {
    "AWS::Lambda::Url": Kind(
        _url,
        served=("AuthType", "Cors", "InvokeMode", "Qualifier", "TargetFunctionArn"),
        update=_changed,
        remove=_removed,
        can_be_spared=True,
    ),
}
