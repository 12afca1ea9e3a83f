"""API Gateway HTTP APIs: the explicit resources of AWS::ApiGatewayV2."""

import hashlib
from typing import Any

from local.errors import TemplateError
from local.http_api import Integration, Route
from local.resources.kinds import Created, Kind, Resource, World

_LONGEST_TIMEOUT = 30_000  # milliseconds, of an HTTP API


def _api(resource: Resource, world: World) -> Created:
    if resource.properties.get("ProtocolType") != "HTTP":
        raise TemplateError(f"{resource.logical_id}: the local stack serves HTTP APIs made of explicit routes only.")
    identifier = _identifier(resource, world, length=10)
    world.apis.append(identifier)
    if len(world.apis) > 1:
        raise TemplateError(f"{resource.logical_id}: the local stack serves one API per template.")
    endpoint = f"https://{identifier}.execute-api.{world.region}.amazonaws.com"
    return Created(identifier, {"ApiEndpoint": endpoint, "ApiId": identifier})


def _stage(resource: Resource, world: World) -> Created:
    name: str = resource.properties["StageName"]
    if name != "$default":
        world.notes.append(f"{resource.logical_id}: the stage {name} is served without its name in the path")
    return Created(name)


def _integration(resource: Resource, world: World) -> Created:
    properties = resource.properties
    if properties.get("IntegrationType") != "AWS_PROXY" or str(properties.get("PayloadFormatVersion")) != "2.0":
        raise TemplateError(
            f"{resource.logical_id}: the local stack serves AWS_PROXY integrations of payload 2.0 only."
        )
    arn: str = properties["IntegrationUri"]
    function = next((function for function in world.functions.values() if function.settings.arn in arn), None)
    if function is None:
        raise TemplateError(f"{resource.logical_id}: {arn} is not a function of this template.")
    identifier = _identifier(resource, world, length=7)
    world.integrations[identifier] = Integration(
        function, int(properties.get("TimeoutInMillis", _LONGEST_TIMEOUT)) / 1000
    )
    return Created(identifier)


def _route(resource: Resource, world: World) -> Created:
    properties = resource.properties
    target: str = str(properties.get("Target", "")).removeprefix("integrations/")
    if target not in world.integrations:
        raise TemplateError(f"{resource.logical_id}: its Target is no integration of this template.")
    authorization: Any = properties.get("AuthorizationType", "NONE")
    if authorization != "NONE":
        key = properties["RouteKey"]
        world.notes.append(f"{key}: {authorization} sign-in is not verified here, so the route refuses every request")
    world.routes.append(Route(properties["RouteKey"], world.integrations[target], authorization))
    return Created(_identifier(resource, world, length=7))


def _authorizer(resource: Resource, world: World) -> Created:
    return Created(_identifier(resource, world, length=6))


def _identifier(resource: Resource, world: World, *, length: int) -> str:
    return hashlib.sha256(world.name(resource).encode()).hexdigest()[:length]


KINDS = {
    "AWS::ApiGatewayV2::Api": Kind(_api, served=("ProtocolType",), harmless=("Name",)),
    "AWS::ApiGatewayV2::Stage": Kind(_stage, served=("ApiId", "StageName"), harmless=("AutoDeploy",)),
    "AWS::ApiGatewayV2::Integration": Kind(
        _integration, served=("ApiId", "IntegrationType", "IntegrationUri", "PayloadFormatVersion", "TimeoutInMillis")
    ),
    "AWS::ApiGatewayV2::Route": Kind(
        _route,
        served=("ApiId", "RouteKey", "Target", "AuthorizationType"),
        harmless=("AuthorizerId", "AuthorizationScopes"),
    ),
    # Its routes say that sign-in is not verified.
    "AWS::ApiGatewayV2::Authorizer": Kind(
        _authorizer, harmless=("ApiId", "AuthorizerType", "IdentitySource", "JwtConfiguration", "Name")
    ),
}
