"""Return where clients sign in: OAuth 2.0 Protected Resource Metadata (RFC 9728). Public, the same for all clients.

With a mirror, also Authorization Server Metadata (RFC 8414) that name the user pool's own endpoints and what the pool's
metadata leave out; the mirror stands aside if the pool's metadata have it, or if its answers name their issuer.

Nothing of the request but its route may influence the response: clients trust these documents with their users'
sign-in.
"""

import json
import os
from functools import cache
from typing import Any

from pool import pool_does_without_a_mirror

_AN_HOUR = 3600  # seconds
_OF_THE_SERVER = "GET /.well-known/oauth-authorization-server"


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Return the metadata document of the route."""
    # Version 1.0 of API Gateway's events names the two apart.
    route = event.get("routeKey") or f"{event['httpMethod']} {event['resource']}"
    if route != _OF_THE_SERVER:
        return _response(200, _resource())
    if not _is_mirrored():
        return _response(404, '{"message":"Not Found"}')
    return _response(200, _server())


def _response(status: int, body: str) -> dict[str, Any]:
    return {
        "statusCode": status,
        "headers": {
            "content-type": "application/json",
            "cache-control": f"public, max-age={_AN_HOUR}",
            # For web pages; the API's CORS configuration, if there is one, overrides it.
            "access-control-allow-origin": "*",
        },
        "body": body,
        "isBase64Encoded": False,
    }


@cache
def _resource() -> str:
    scopes = _scopes()
    document = {
        "resource": os.environ["RESOURCE"],
        "resource_name": os.environ["RESOURCE_NAME"],
        "authorization_servers": [_origin() if _is_mirrored() else os.environ["ISSUER"]],
        # Absent if no scopes are needed: clients request every scope that is listed.
        **({"scopes_supported": scopes} if scopes else {}),
        "bearer_methods_supported": ["header"],
    }
    return json.dumps(document, separators=(",", ":"))


@cache
def _server() -> str:
    """Return the mirror, without keys (tokens name the pool as issuer) and registration (nobody may register)."""
    sign_in, scopes = os.environ["SIGN_IN_URL"], _scopes()
    document = {
        # RFC 8414, 3.3: exactly the string that the resource's metadata name, from which clients made this URL.
        "issuer": _origin(),
        "authorization_endpoint": f"{sign_in}/oauth2/authorize",
        "token_endpoint": f"{sign_in}/oauth2/token",
        "revocation_endpoint": f"{sign_in}/oauth2/revoke",
        **({"scopes_supported": scopes} if scopes else {}),
        "response_types_supported": ["code"],
        "grant_types_supported": os.environ["GRANT_TYPES"].split(","),
        "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post"],
        "code_challenge_methods_supported": ["S256"],
        "client_id_metadata_document_supported": os.environ["CLIENT_DOCUMENTS"] == "announce",
    }
    return json.dumps(document, separators=(",", ":"))


@cache
def _is_mirrored() -> bool:
    sign_in = os.environ.get("SIGN_IN_URL", "")
    return bool(sign_in) and not pool_does_without_a_mirror(
        os.environ["ISSUER"], sign_in, os.environ["CLIENT_ID"], os.environ["CALLBACK_URL"]
    )


def _origin() -> str:
    return os.environ["RESOURCE"].removesuffix("/mcp")


def _scopes() -> list[str]:
    # Cognito prefixes scopes with the resource's identifier.
    prefix = f"{os.environ['RESOURCE']}/" if os.environ["AUTHORIZER"] == "cognito" else ""
    scopes = [prefix + scope for scope in os.environ["SCOPES"].replace(",", " ").split()]
    return list(dict.fromkeys(scopes))
