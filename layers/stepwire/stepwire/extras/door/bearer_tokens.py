"""What is known of an access token without verifying it. Function mcp loads this, and nothing that verifies."""

import hashlib
from typing import Final

VERIFIED: Final = "verified"
"""The key, in the context of function authorizer, of the digest of the token that it has verified."""


def token_in(header: str) -> str:
    """Return the token in the header `Authorization`; the word `Bearer` may be missing, as at an HTTP API."""
    scheme, space, rest = header.strip().partition(" ")
    return rest.strip() if space and scheme.lower() == "bearer" else header.strip()


def digest_of(token: str) -> str:
    """Return what names a token without telling it."""
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()
