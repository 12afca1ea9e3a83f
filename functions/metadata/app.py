"""Tell clients where to sign in: OAuth 2.0 Protected Resource Metadata (RFC 9728). Public, and the same for everybody.

The rule: nothing of the request is in the answer. A client trusts what is said here with its user's sign-in.
"""

import json
import os
from functools import cache
from typing import Any

_AN_HOUR = 3600  # seconds


def handler(_event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Answer a request for the document."""
    return {
        "statusCode": 200,
        "headers": {
            "content-type": "application/json",
            "cache-control": f"public, max-age={_AN_HOUR}",
            # For web pages; where the API has a CORS configuration, that counts instead.
            "access-control-allow-origin": "*",
        },
        "body": _document(),
        "isBase64Encoded": False,
    }


@cache
def _document() -> str:
    # Cognito puts the name of the resource before its scopes.
    prefix = f"{os.environ['RESOURCE']}/" if os.environ["AUTHORIZER"] == "cognito" else ""
    scopes = [prefix + scope for scope in os.environ["SCOPES"].replace(",", " ").split()]
    document = {
        "resource": os.environ["RESOURCE"],
        "resource_name": "Stepwire",
        "authorization_servers": [os.environ["ISSUER"]],
        # Absent where none is needed: a client asks for all that are here.
        **({"scopes_supported": list(dict.fromkeys(scopes))} if scopes else {}),
        "bearer_methods_supported": ["header"],
    }
    return json.dumps(document, separators=(",", ":"))
