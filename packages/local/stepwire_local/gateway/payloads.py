"""The payload formats of functions behind an API: requests become events, and results become responses.

Pure: bytes and mappings in, bytes and mappings out; time and ids are arguments. HTTP APIs use 2.0 or 1.0, REST APIs
1.0. The sources are the API Gateway developer guide, "AWS Lambda proxy integrations for HTTP APIs" and "Lambda proxy
integrations in API Gateway". One difference: HTTP/1.1 says nothing of a header's case and the server does not keep it,
so events of format 1.0 have names as `Content-Type`, which is how most clients send them.
"""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any, TypeVar, get_origin
from urllib.parse import parse_qsl, unquote

from stepwire_local.gateway import jwt_tokens
from stepwire_local.gateway.http_api import DEFAULT_STAGE, Api, Integration, Match, Request, Response
from stepwire_local.lambdas.invocations import Failed, Outcome

Shape = TypeVar("Shape")

# Headers of one connection, not of the message; the HTTP server sets its own.
_HOP_BY_HOP = frozenset(
    (
        "connection",
        "content-length",
        "keep-alive",
        "proxy-authenticate",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)
# A function cannot set these headers; API Gateway renames them.
_REMAPPED = {"www-authenticate": "x-amzn-remapped-www-authenticate"}

# Bodies of these types are passed as text; all others are base64-encoded.
_TEXT = re.compile(r"^(text/.*|application/(json|xml|javascript|.*\+(json|xml)))$")


def event(api: Api, match: Match, request: Request, *, request_id: str, at: datetime) -> dict[str, Any]:
    """Return the event in the payload format of the route's integration."""
    integration = match.route.integration
    is_first = isinstance(integration, Integration) and integration.payload == "1.0"
    return (_event_1 if is_first else _event_2)(api, match, request, request_id, at)


def _event_2(api: Api, match: Match, request: Request, request_id: str, at: datetime) -> dict[str, Any]:
    """Return the event of format 2.0; it leaves out what the request leaves out."""
    headers = _joined(_forwarded(request, request_id))
    cookies = headers.pop("cookie", None)
    made: dict[str, Any] = {
        "version": "2.0",
        "routeKey": match.route.key,
        "rawPath": _whole_path(api, match),
        "rawQueryString": request.query,
        "headers": headers,
        "requestContext": _context_2(api, match, request, headers, request_id, at),
    }
    if cookies is not None:
        made["cookies"] = [cookie.strip() for cookie in re.split(r"[;,]", cookies)]
    if request.query:
        made["queryStringParameters"] = _joined(parse_qsl(request.query, keep_blank_values=True))
    if match.parameters:
        made["pathParameters"] = dict(match.parameters)
    if api.variables:
        made["stageVariables"] = dict(api.variables)
    body = _body(api, headers.get("content-type", ""), request.body)
    return made | ({} if body["body"] is None else body) | {"isBase64Encoded": body["isBase64Encoded"]}


def _event_1(api: Api, match: Match, request: Request, request_id: str, at: datetime) -> dict[str, Any]:
    """Return the event of format 1.0; what the request leaves out is null."""
    headers = _listed((_in_words(name), value) for name, value in _forwarded(request, request_id))
    query = _listed(parse_qsl(request.query, keep_blank_values=True))
    return {
        **({} if api.is_rest else {"version": "1.0"}),
        "resource": _resource(match),
        "path": unquote(match.path) if api.is_rest else _whole_path(api, match),
        "httpMethod": request.method,
        "headers": _last(headers),
        "multiValueHeaders": headers,
        "queryStringParameters": _last(query) or None,
        "multiValueQueryStringParameters": query or None,
        "pathParameters": dict(match.parameters) or None,
        "stageVariables": dict(api.variables) or None,
        "requestContext": _context_1(api, match, request, _last(headers), request_id, at),
        **_body(api, _last(headers).get("Content-Type", ""), request.body),
    }


def _whole_path(api: Api, match: Match) -> str:
    return ("" if api.stage == DEFAULT_STAGE else f"/{api.stage}") + unquote(match.path)


def _resource(match: Match) -> str:
    return match.route.key.rpartition(" ")[2]


def _in_words(header: str) -> str:
    return "-".join(word.capitalize() for word in header.split("-"))


def _forwarded(request: Request, request_id: str) -> list[tuple[str, str]]:
    given = [(name.lower(), value) for name, value in request.headers]
    kept = [(name, value) for name, value in given if name not in _HOP_BY_HOP - {"content-length"}]
    host = next((value for name, value in kept if name == "host"), "")
    port = re.search(r":(\d+)$", host)
    added = (
        ("x-amzn-trace-id", f"Root=1-{request_id[:8]}-{request_id.replace('-', '')[8:]}"),
        ("x-forwarded-for", request.source),
        ("x-forwarded-port", port[1] if port else "80"),
        ("x-forwarded-proto", "http"),
    )
    return [*kept, *added]


def _context_2(
    api: Api, match: Match, request: Request, headers: Mapping[str, str], request_id: str, at: datetime
) -> dict[str, Any]:
    signed_in = jwt_tokens.authorizer_context(match.caller, match.route.scopes) if match.caller else match.context
    return {
        **({"authorizer": signed_in} if signed_in else {}),
        "accountId": api.account,
        "apiId": api.id,
        "domainName": headers.get("host", api.domain),
        "domainPrefix": api.id,
        "http": {
            "method": request.method,
            "path": _whole_path(api, match),
            "protocol": request.protocol,
            "sourceIp": request.source,
            "userAgent": headers.get("user-agent", ""),
        },
        "requestId": request_id,
        "routeKey": match.route.key,
        "stage": api.stage,
        "time": at.strftime("%d/%b/%Y:%H:%M:%S +0000"),
        "timeEpoch": int(at.timestamp() * 1000),
    }


# Fields of a caller that no sign-in served here gives.
_UNKNOWN_OF_A_CALLER = (
    "accessKey",
    "accountId",
    "caller",
    "cognitoAuthenticationProvider",
    "cognitoAuthenticationType",
    "cognitoIdentityId",
    "cognitoIdentityPoolId",
    "principalOrgId",
    "user",
    "userArn",
)


def _context_1(
    api: Api, match: Match, request: Request, headers: Mapping[str, str], request_id: str, at: datetime
) -> dict[str, Any]:
    signed_in = jwt_tokens.authorizer_context(match.caller, match.route.scopes)["jwt"] if match.caller else None
    known = match.context or signed_in
    agent = headers.get("User-Agent", "")
    return {
        **({"authorizer": known} if known else {}),
        "accountId": api.account,
        "apiId": api.id,
        "domainName": headers.get("Host", api.domain),
        "domainPrefix": api.id,
        "extendedRequestId": request_id,
        "httpMethod": request.method,
        "identity": {
            **dict.fromkeys(_UNKNOWN_OF_A_CALLER),
            "sourceIp": request.source,
            "userAgent": agent,
        },
        "path": _whole_path(api, match),
        "protocol": request.protocol,
        "requestId": request_id,
        "requestTime": at.strftime("%d/%b/%Y:%H:%M:%S +0000"),
        "requestTimeEpoch": int(at.timestamp() * 1000),
        "resourceId": match.route.key if not api.is_rest else hashlib.sha256(_resource(match).encode()).hexdigest()[:6],
        "resourcePath": _resource(match),
        "stage": api.stage,
    }


def _listed(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    listed: dict[str, list[str]] = {}
    for name, value in pairs:
        listed.setdefault(name, []).append(value)
    return listed


def _joined(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {name: ",".join(values) for name, values in _listed(pairs).items()}


def _last(listed: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {name: values[-1] for name, values in listed.items()}


def _body(api: Api, content_type: str, body: bytes) -> dict[str, Any]:
    if not body:
        return {"body": None, "isBase64Encoded": False}
    kind = content_type.partition(";")[0].strip().lower()
    if api.binary is not None and not any(fnmatchcase(kind, pattern) for pattern in api.binary):
        return {"body": body.decode(errors="replace"), "isBase64Encoded": False}
    if api.binary is None and _TEXT.match(kind):
        try:
            return {"body": body.decode(), "isBase64Encoded": False}
        except UnicodeDecodeError:
            pass  # not text, whatever its content type says
    return {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}


def response(outcome: Outcome, api: Api, integration: Integration) -> Response:
    """Return the response for the outcome of a function; that of a failure has no details."""
    if isinstance(outcome, Failed):
        return api.replies.failed
    result = json.loads(outcome.payload)
    if integration.payload == "2.0" and not (isinstance(result, dict) and "statusCode" in result):
        # As API Gateway infers: the whole result is the body.
        text = result if isinstance(result, str) else outcome.payload
        return Response(200, (("content-type", "application/json"),), text.encode())
    try:
        return _explicit(_expected(dict[str, Any], result), api)
    except (binascii.Error, KeyError, TypeError, ValueError):
        return api.replies.failed


def _explicit(result: dict[str, Any], api: Api) -> Response:
    """Return the response that a result describes; of a header in both maps, the several values count."""
    status = int(result["statusCode"])
    if not 100 <= status <= 599:  # noqa: PLR2004  # the bounds of HTTP
        raise ValueError(status)
    given = _expected(dict[str, Any], result.get("headers") or {})
    several = _expected(dict[str, Any], result.get("multiValueHeaders") or {})
    listed = {name.lower(): [value] for name, value in given.items()}
    listed |= {name.lower(): _expected(list[Any], values) for name, values in several.items()}
    listed.setdefault("content-type", [api.replies.content_type])
    headers = [
        (_REMAPPED.get(name, name), _header(value))
        for name, values in listed.items()
        for value in values
        if name not in _HOP_BY_HOP
    ]
    cookies = [("set-cookie", _header(cookie)) for cookie in _expected(list[Any], result.get("cookies") or [])]
    text = _expected(str, result.get("body") or "")
    # A REST API sends the base64 itself unless it has binary media types.
    is_binary = result.get("isBase64Encoded") and api.binary != ()
    body = base64.b64decode(text, validate=True) if is_binary else text.encode()
    return Response(status, (*headers, *cookies), body)


def _expected(kind: type[Shape], value: Any) -> Shape:
    if not isinstance(value, get_origin(kind) or kind):
        raise TypeError(f"{kind} was expected")
    return value


def _header(value: object) -> str:
    if isinstance(value, dict | list) or value is None:
        raise TypeError("a header has one value")
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if "\r" in text or "\n" in text:
        raise ValueError(text)
    return text
