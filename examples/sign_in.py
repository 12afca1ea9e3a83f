"""The sign-in of the demo, so that its caller is known."""

import time
from collections.abc import Mapping
from typing import Any, Final, Self

from stepwire_local.issuer import SHAPES, LocalIssuer

AUDIENCE: Final = "stepwire-demo"


class SignIn:
    """A test issuer while its block runs: some of what the demo shows needs a caller who is known."""

    def __init__(self) -> None:
        self._issuer = LocalIssuer(SHAPES["strict"])
        self.parameters: Mapping[str, str] = {
            "Authorizer": "jwt",
            "JwtIssuer": self._issuer.url,
            "JwtAudience": AUDIENCE,
        }

    def __enter__(self) -> Self:
        self._issuer.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._issuer.__exit__(*error)

    def headers(self) -> dict[str, str]:
        """Return what signs in, for an hour."""
        claims = {"iss": self._issuer.url, "sub": "demo", "aud": AUDIENCE, "exp": int(time.time()) + 3_600}
        return {"Authorization": f"Bearer {self._issuer.sign(claims)}"}
