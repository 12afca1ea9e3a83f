"""API Gateway: HTTP APIs (AWS::ApiGatewayV2) and REST APIs (AWS::ApiGateway), with routes of their own or in a body."""

import hashlib
import re
from dataclasses import replace
from typing import Any

from stepwire_local.cloudformation.resources.kinds import Change, Created, Kind, Resource, World
from stepwire_local.errors import TemplateError
from stepwire_local.gateway.cors import Cors
from stepwire_local.gateway.function_authorizers import FunctionAuthorizer
from stepwire_local.gateway.header_changes import changes_of
from stepwire_local.gateway.http_api import DEFAULT_STAGE, Api, Integration, Response, Route, customized
from stepwire_local.gateway.issuers import is_on_this_machine
from stepwire_local.gateway.jwt_tokens import JwtAuthorizer
from stepwire_local.lambdas.functions import Function

_LONGEST_TIMEOUT = 30_000  # milliseconds, of an HTTP API
_LONGEST_REST_TIMEOUT = 29_000
_METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
_ANY = "x-amazon-apigateway-any-method"


def _api(resource: Resource, world: World) -> Created:
    body: dict[str, Any] | None = resource.properties.get("Body")
    if body is None and resource.properties.get("ProtocolType") != "HTTP":
        raise TemplateError(f"{resource.logical_id}: the local stack serves HTTP APIs only.")
    # The SAM transform writes the CorsConfiguration of its APIs into the body, with names in camelCase.
    described: dict[str, Any] = (body or {}).get("x-amazon-apigateway-cors", {})
    configuration = resource.properties.get("CorsConfiguration") or {
        f"{name[:1].upper()}{name[1:]}": value for name, value in described.items()
    }
    api = _one_api(resource, Api(_identifier(resource, world, length=10), world.account, world.region), world)
    world.api = replace(api, cors=cors_of(resource, configuration) if configuration else None)
    _add_routes(resource, body or {}, world)
    return Created(api.id, {"ApiEndpoint": f"https://{api.domain}", "ApiId": api.id})


def _rest_api(resource: Resource, world: World) -> Created:
    body: dict[str, Any] = resource.properties.get("Body") or {}
    binary = [*body.get("x-amazon-apigateway-binary-media-types", ()), *resource.properties.get("BinaryMediaTypes", ())]
    api = Api(_identifier(resource, world, length=10), world.account, world.region)
    types = tuple(str(one).lower() for one in binary)
    replies = customized(body.get("x-amazon-apigateway-gateway-responses", {}))
    world.api = _one_api(resource, replace(api, binary=types, own_replies=replies), world)
    _add_routes(resource, body, world)
    return Created(api.id, {"RestApiId": api.id, "RootResourceId": _identifier(resource, world, length=9)})


def _one_api(resource: Resource, api: Api, world: World) -> Api:
    if world.api is not None:
        raise TemplateError(f"{resource.logical_id}: the local stack serves one API per template.")
    return api


def _add_routes(resource: Resource, body: dict[str, Any], world: World) -> None:
    """Serve the routes in the body, an OpenAPI document, that invoke functions or answer themselves; note the others.

    The SAM transform makes such a body of a function's events of type HttpApi and Api.
    """
    for written, methods in body.get("paths", {}).items():
        is_default = written.strip("/") == DEFAULT_STAGE
        path = written.rstrip("/") or "/" if world.api is not None and world.api.is_rest else written
        for method, described in methods.items():
            if method.lower() not in (*_METHODS, _ANY):
                continue  # parameters and descriptions of all methods
            key = DEFAULT_STAGE if is_default else f"{'ANY' if method == _ANY else method.upper()} {path}"
            target = _target(described.get("x-amazon-apigateway-integration", {}), world)
            if target is None:
                world.notes.append(
                    f"{resource.logical_id}: {key} is not served: it invokes no function of this template"
                )
                continue
            authorization, authorizer = _authorization(described, body), _function_authorizer(described, body, world)
            if authorization != "NONE" and authorizer is None:
                world.notes.append(f"{key}: its sign-in is not verified here, so the route refuses every request")
            world.routes.append(Route(key, target, authorization, authorizer))


def _target(integration: dict[str, Any], world: World) -> Integration | Response | None:
    """Return what an integration in a body leads to: a function, or the response of a mock; None for another one."""
    is_rest = world.api is not None and world.api.is_rest
    kind = str(integration.get("type", "")).lower()
    if is_rest and kind == "mock":
        return _mock(integration)
    function = _function_in(str(integration.get("uri", "")), world)
    version = "1.0" if is_rest else str(integration.get("payloadFormatVersion"))
    if function is None or kind != "aws_proxy" or version not in ("1.0", "2.0"):
        return None
    longest = _LONGEST_REST_TIMEOUT if is_rest else _LONGEST_TIMEOUT
    return Integration(function, int(integration.get("timeoutInMillis", longest)) / 1000, version)


def _mock(integration: dict[str, Any]) -> Response:
    """Return the response of a mock, such as that of a CORS preflight, with those of its headers that are constant."""
    responses: dict[str, dict[str, Any]] = integration.get("responses", {})
    described = next(iter(responses.values()), dict[str, Any]())
    body = str(described.get("responseTemplates", {}).get("application/json", ""))
    given = {name.rpartition(".header."): str(value) for name, value in described.get("responseParameters", {}).items()}
    constant = [(name.lower(), value[1:-1]) for (_, _, name), value in given.items() if value.startswith("'")]
    status = int(described.get("statusCode", 200))
    return Response(status, (("content-type", "application/json"), *constant), body.strip().encode())


def _authorization(described: dict[str, Any], body: dict[str, Any]) -> str:
    """Return how callers sign in on a route of a body: NONE, AWS_IAM, API_KEY or, for all authorizers, CUSTOM."""
    security = described.get("security", body.get("security", ()))
    names = {name for one in security for name in one} - {"NONE"}
    match sorted(names):
        case []:
            return "NONE"
        case ["api_key"]:
            return "API_KEY"
        case ["AWS_IAM"]:
            return "AWS_IAM"
        case _:
            return "CUSTOM"


def _function_authorizer(described: dict[str, Any], body: dict[str, Any], world: World) -> FunctionAuthorizer | None:
    """Return the Lambda authorizer of type TOKEN on a route of a body; None if it has another sign-in."""
    schemes: dict[str, Any] = body.get("components", {}).get("securitySchemes") or body.get("securityDefinitions", {})
    names = [name for one in described.get("security", body.get("security", ())) for name in one]
    scheme: dict[str, Any] = schemes.get(names[0], {}) if len(names) == 1 else {}
    settings: dict[str, Any] = scheme.get("x-amazon-apigateway-authorizer", {})
    function = _function_in(str(settings.get("authorizerUri", "")), world)
    if function is None or settings.get("type") != "token" or settings.get("authorizerResultTtlInSeconds") != 0:
        return None
    pattern = str(settings.get("identityValidationExpression", ""))
    return FunctionAuthorizer(function, str(scheme["name"]).lower(), pattern)


def _function_in(uri: str, world: World) -> Function | None:
    """Return the function whose ARN is in the URI of an integration, with or without an alias."""
    found = re.search(r"arn:[\w-]+:lambda:[^/]*", uri.removeprefix("arn:aws:apigateway:"))
    arn = ":".join(found[0].split(":")[:7]) if found else ""
    return next((function for function in world.functions.values() if function.settings.arn == arn), None)


def cors_of(resource: Resource, configuration: dict[str, Any]) -> Cors:
    """Return the CORS settings of an API or a function URL.

    Raises:
        TemplateError: AWS would refuse them.
    """
    lists = ("AllowOrigins", "AllowMethods", "AllowHeaders", "ExposeHeaders")
    origins, methods, headers, exposed = (tuple(map(str, configuration.get(name, ()))) for name in lists)
    credentials = str(configuration.get("AllowCredentials", "false")).lower() == "true"
    if credentials and "*" in origins:
        raise TemplateError(f"{resource.logical_id}: its CORS settings cannot allow credentials to every origin.")
    age = configuration.get("MaxAge")
    return Cors(origins, methods, headers, exposed, credentials, None if age is None else int(age))


def _stage(resource: Resource, world: World) -> Created:
    name: str = resource.properties["StageName"]
    if world.api is None:
        return Created(name)
    if world.api.stage not in (DEFAULT_STAGE, name):
        world.notes.append(f"{resource.logical_id}: the stage {name} is not served: {world.api.stage} is")
        return Created(name)
    properties = resource.properties
    given: dict[str, Any] = properties.get("Variables") or properties.get("StageVariables") or {}
    world.api = replace(world.api, stage=name, variables={key: str(value) for key, value in given.items()})
    return Created(name)


def _deployed_again(change: Change, _world: World) -> Created:
    """Take over a new deployment of the API, which has no effect here; what else differs waits for a restart."""
    before, after = ({**one.properties, "DeploymentId": ""} for one in (change.before, change.after))
    if before != after:
        raise TemplateError(
            f"{change.after.logical_id}: a change of {change.after.kind} is taken over by a restart only."
        )
    return change.created


def _rest_deployment(resource: Resource, world: World) -> Created:
    identifier = _identifier(resource, world, length=6)
    return Created(identifier, {"DeploymentId": identifier})


def _integration(resource: Resource, world: World) -> Created:
    properties = resource.properties
    version = str(properties.get("PayloadFormatVersion", "1.0"))
    if properties.get("IntegrationType") != "AWS_PROXY" or version not in ("1.0", "2.0"):
        raise TemplateError(f"{resource.logical_id}: the local stack serves AWS_PROXY integrations only.")
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
    world.integrations[identifier] = Integration(function, timeout, version, changes)
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
        served=("ApiId", "StageName", "StageVariables"),
        harmless=("AutoDeploy", "AccessLogSettings", "DefaultRouteSettings"),
        note="stages: no throttling, no access logs",
    ),
    "AWS::ApiGateway::RestApi": Kind(
        _rest_api,
        served=("Body", "BinaryMediaTypes"),
        harmless=("Name", "EndpointConfiguration", "MinimumCompressionSize", "Parameters", "FailOnWarnings"),
        note="REST APIs: no validation of requests, no models, gateway responses of constants, no resource policies",
    ),
    "AWS::ApiGateway::Deployment": Kind(_rest_deployment, harmless=("RestApiId", "StageName")),
    "AWS::ApiGateway::Stage": Kind(
        _stage,
        served=("RestApiId", "StageName", "Variables"),
        harmless=("DeploymentId", "AccessLogSetting", "MethodSettings", "TracingEnabled", "CacheClusterEnabled"),
        note="stages: no throttling, no access logs",
        update=_deployed_again,
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
