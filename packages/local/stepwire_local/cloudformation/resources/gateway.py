"""API Gateway HTTP APIs: the resources of AWS::ApiGatewayV2, with routes of their own or in the body of the API."""

import hashlib
from typing import Any

from stepwire_local.cloudformation.resources.kinds import Created, Kind, Resource, World
from stepwire_local.errors import TemplateError
from stepwire_local.gateway.cors import Cors
from stepwire_local.gateway.header_changes import changes_of
from stepwire_local.gateway.http_api import Integration, Route
from stepwire_local.gateway.issuers import is_on_this_machine
from stepwire_local.gateway.jwt_tokens import JwtAuthorizer
from stepwire_local.lambdas.functions import Function

_LONGEST_TIMEOUT = 30_000  # milliseconds, of an HTTP API


def _api(resource: Resource, world: World) -> Created:
    body: dict[str, Any] | None = resource.properties.get("Body")
    if body is None and resource.properties.get("ProtocolType") != "HTTP":
        raise TemplateError(f"{resource.logical_id}: the local stack serves HTTP APIs only.")
    identifier = _identifier(resource, world, length=10)
    world.apis.append(identifier)
    if len(world.apis) > 1:
        raise TemplateError(f"{resource.logical_id}: the local stack serves one API per template.")
    if configuration := resource.properties.get("CorsConfiguration"):
        world.cors = _cors(resource, configuration)
    _add_routes(resource, body or {}, world)
    endpoint = f"https://{identifier}.execute-api.{world.region}.amazonaws.com"
    return Created(identifier, {"ApiEndpoint": endpoint, "ApiId": identifier})


def _add_routes(resource: Resource, body: dict[str, Any], world: World) -> None:
    """Serve the routes in the body, an OpenAPI document, that invoke functions; notes name the others.

    The SAM transform makes such a body of a function's events of type HttpApi.
    """
    for path, methods in body.get("paths", {}).items():
        for method, described in methods.items():
            is_default = path.strip("/") == "$default"
            key = "$default" if is_default else f"{'ANY' if 'any-method' in method else method.upper()} {path}"
            integration: dict[str, Any] = described.get("x-amazon-apigateway-integration", {})
            function = _function_in(str(integration.get("uri", "")), world)
            if function is None or str(integration.get("payloadFormatVersion")) != "2.0":
                world.notes.append(f"{resource.logical_id}: {key} is not served: it invokes no function by payload 2.0")
                continue
            authorization = "CUSTOM" if described.get("security") else "NONE"
            if authorization != "NONE":
                world.notes.append(f"{key}: its sign-in is not verified here, so the route refuses every request")
            timeout = int(integration.get("timeoutInMillis", _LONGEST_TIMEOUT)) / 1000
            world.routes.append(Route(key, Integration(function, timeout), authorization))


def _function_in(uri: str, world: World) -> Function | None:
    return next((function for function in world.functions.values() if function.settings.arn in uri), None)


def _cors(resource: Resource, configuration: dict[str, Any]) -> Cors:
    lists = ("AllowOrigins", "AllowMethods", "AllowHeaders", "ExposeHeaders")
    origins, methods, headers, exposed = (tuple(map(str, configuration.get(name, ()))) for name in lists)
    credentials = str(configuration.get("AllowCredentials", "false")).lower() == "true"
    if credentials and "*" in origins:
        raise TemplateError(f"{resource.logical_id}: CorsConfiguration cannot allow credentials to every origin.")
    age = configuration.get("MaxAge")
    return Cors(origins, methods, headers, exposed, credentials, None if age is None else int(age))


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
    function = _function_in(arn, world)
    if function is None:
        raise TemplateError(f"{resource.logical_id}: {arn} is not a function of this template.")
    try:
        changes = changes_of(properties.get("ResponseParameters") or {})
    except ValueError as error:
        raise TemplateError(f"{resource.logical_id}: ResponseParameters: {error}.") from error
    identifier = _identifier(resource, world, length=7)
    timeout = int(properties.get("TimeoutInMillis", _LONGEST_TIMEOUT)) / 1000
    world.integrations[identifier] = Integration(function, timeout, changes)
    if changes:
        world.notes.append(
            f"{resource.logical_id}: ResponseParameters apply after headers are renamed, which is not documented"
        )
    return Created(identifier)


def _route(resource: Resource, world: World) -> Created:
    properties = resource.properties
    target: str = str(properties.get("Target", "")).removeprefix("integrations/")
    if target not in world.integrations:
        raise TemplateError(f"{resource.logical_id}: its Target is not an integration of this template.")
    authorization: str = properties.get("AuthorizationType", "NONE")
    authorizer = world.authorizers.get(properties.get("AuthorizerId", "")) if authorization == "JWT" else None
    if authorization != "NONE" and authorizer is None:
        key = properties["RouteKey"]
        world.notes.append(f"{key}: {authorization} sign-in is not verified here, so the route refuses every request")
    scopes = tuple(map(str, properties.get("AuthorizationScopes", ())))
    world.routes.append(Route(properties["RouteKey"], world.integrations[target], authorization, authorizer, scopes))
    return Created(_identifier(resource, world, length=7))


def _authorizer(resource: Resource, world: World) -> Created:
    """Create an authorizer of type JWT; routes with another type refuse every request, and a note says so."""
    properties = resource.properties
    identifier = _identifier(resource, world, length=6)
    if properties.get("AuthorizerType") == "JWT":
        issuer: str = properties["JwtConfiguration"]["Issuer"]
        audiences = tuple(map(str, properties["JwtConfiguration"]["Audience"]))
        world.authorizers[identifier] = JwtAuthorizer(issuer, audiences, _identity_source(resource))
        if not is_on_this_machine(issuer):
            world.notes.append(f"{resource.logical_id}: {issuer} is not on this machine, so its keys are not fetched")
    return Created(identifier)


def _identity_source(resource: Resource) -> str:
    given: list[str] = resource.properties.get("IdentitySource", [])
    source = given[0] if len(given) == 1 else ""
    if not source.startswith(("$request.header.", "$request.querystring.")):
        raise TemplateError(f"{resource.logical_id}: IdentitySource must be one header or one query parameter.")
    return source


def _identifier(resource: Resource, world: World, *, length: int) -> str:
    return hashlib.sha256(world.name(resource).encode()).hexdigest()[:length]


KINDS = {
    "AWS::ApiGatewayV2::Api": Kind(
        _api, served=("ProtocolType", "CorsConfiguration", "Body"), harmless=("Name", "DisableExecuteApiEndpoint")
    ),
    "AWS::ApiGatewayV2::Stage": Kind(
        _stage,
        served=("ApiId", "StageName"),
        harmless=("AutoDeploy", "AccessLogSettings", "DefaultRouteSettings"),
        note="stages: no throttling, no access logs",
    ),
    "AWS::ApiGatewayV2::Integration": Kind(
        _integration,
        served=(
            "ApiId",
            "IntegrationType",
            "IntegrationUri",
            "PayloadFormatVersion",
            "ResponseParameters",
            "TimeoutInMillis",
        ),
    ),
    "AWS::ApiGatewayV2::Route": Kind(
        _route,
        served=("ApiId", "RouteKey", "Target", "AuthorizationType", "AuthorizerId", "AuthorizationScopes"),
    ),
    "AWS::ApiGatewayV2::Authorizer": Kind(
        _authorizer, served=("ApiId", "AuthorizerType", "IdentitySource", "JwtConfiguration"), harmless=("Name",)
    ),
}
