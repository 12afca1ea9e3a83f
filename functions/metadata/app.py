"""Return where clients sign in: OAuth 2.0 Protected Resource Metadata (RFC 9728). Public, the same for all clients.

Nothing of the request may influence the response: clients trust this document with their users' sign-in.
"""

import json
import os
from functools import cache
from typing import Any

_AN_HOUR = 3600  # seconds


def handler(_event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Return the metadata document."""
    return {
        "statusCode": 200,
        "headers": {
            "content-type": "application/json",
            "cache-control": f"public, max-age={_AN_HOUR}",
            # For web pages; the API's CORS configuration, if there is one, overrides it.
            "access-control-allow-origin": "*",
        },
        "body": _document(),
        "isBase64Encoded": False,
    }


@cache
def _document() -> str:
    # Cognito prefixes scopes with the resource's identifier.
    prefix = f"{os.environ['RESOURCE']}/" if os.environ["AUTHORIZER"] == "cognito" else ""
    scopes = [prefix + scope for scope in os.environ["SCOPES"].replace(",", " ").split()]
    document = {
        "resource": os.environ["RESOURCE"],
        "resource_name": "Stepwire",
        "authorization_servers": [os.environ["ISSUER"]],
        # Absent if no scopes are needed: clients request every scope that is listed.
        **({"scopes_supported": list(dict.fromkeys(scopes))} if scopes else {}),
        "bearer_methods_supported": ["header"],
    }
    return json.dumps(document, separators=(",", ":"))
