"""The console's sign-in at test issuers of each shape."""

import jwt
import pytest

from stepwire_local.console.sign_in import sign_in_at
from stepwire_local.issuer import SHAPES, LocalIssuer

ENDPOINT = "http://127.0.0.1:3000/mcp"


@pytest.mark.parametrize("people", [{}, {"alice": (), "ann": ("finance",)}])
@pytest.mark.parametrize("shape", SHAPES)
def test_it_signs_in_as_the_first_person_without_asking(shape: str, people: dict[str, tuple[str, ...]]) -> None:
    with LocalIssuer(SHAPES[shape], people=people) as issuer:
        first, second = (sign_in_at(issuer, ENDPOINT)() for _ in range(2))

        claims = jwt.decode(first, options={"verify_signature": False})

    assert (claims["iss"], claims["sub"], claims["client_id"]) == (issuer.url, "alice", "console")
    assert second
