"""Tokens that an endpoint with an issuer refuses or takes: audiences, times, scopes and the claims of a caller."""

import time
from datetime import UTC, datetime
from typing import Any

import pytest

from packages.local.tests.issuer import KID, TestIssuer, own_key
from stepwire.aws.gateway import SignIn
from stepwire_local.gateway.jwt_tokens import InvalidToken, JwtAuthorizer, SignedIn, authorizer_context, sign_in
from tests.sign_in.conftest import Sites
from tests.sign_in.site import SCOPE, WITH_SECRET


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        ({}, 200),
        ({"aud": ["{url}", "https://issuer.example/userinfo"]}, 200),
        ({"aud": "https://other.example/mcp"}, 401),
        ({"aud": ["https://other.example/mcp", "{url}/"]}, 401),
        ({"aud": []}, 401),
        ({"aud": {"{url}": True}}, 401),
        ({"aud": None, "client_id": WITH_SECRET}, 401),
        ({"aud": None, "client_id": "{url}"}, 200),
        ({"aud": WITH_SECRET}, 401),
        ({"iss": "{issuer}/"}, 401),
        ({"token_use": "id"}, 401),
    ],
)
def test_a_token_for_another_audience_is_a_401(sites: Sites, claims: dict[str, Any], status: int) -> None:
    """F4."""
    site = sites("strict")

    def filled(value: Any) -> Any:
        if isinstance(value, list):
            return [filled(one) for one in value]  # pyright: ignore[reportUnknownVariableType]
        return value.format(url=site.url, issuer=site.issuer.url) if isinstance(value, str) else value

    answer = site.listing(site.token(**{name: filled(value) for name, value in claims.items()}))

    assert answer.status_code == status


@pytest.mark.parametrize(("seconds", "status"), [(-1, 401), (-60, 401), (0, 401), (600, 200)])
def test_a_token_that_expired_seconds_ago_is_a_401(sites: Sites, seconds: int, status: int) -> None:
    """There is no leeway, and time only makes an expired token older."""
    site = sites("strict")

    assert site.listing(site.token(exp=int(time.time()) + seconds)).status_code == status


@pytest.mark.parametrize(
    ("scope", "status"),
    [
        (f"openid {SCOPE}", 200),
        (f"openid\u00a0{SCOPE}", 403),
        (f"openid\t{SCOPE}", 403),
        (f"[{SCOPE}", 403),
        (f"[{SCOPE}]", 403),
        ([f"openid {SCOPE}"], 403),
        (f"{SCOPE}s", 403),
        (SCOPE.upper(), 403),
        (["openid", SCOPE], 200),
    ],
)
def test_scopes_are_whole_words_between_spaces(sites: Sites, scope: Any, status: int) -> None:
    """F6."""
    site = sites("strict")

    assert site.listing(site.token(scope=scope)).status_code == status


@pytest.mark.long
def test_a_client_replaces_a_missing_subject_only_if_the_owner_says_so(sites: Sites) -> None:
    machine = {"sub": None, "client_id": "a machine"}
    usual, allowing = sites("strict"), sites("strict", PrincipalClaims="iss,sub|client_id")

    refused, taken = (site.listing(site.token(**machine)) for site in (usual, allowing))

    assert (refused.status_code, refused.json()["error"]["data"]) == (403, {"missing": ["sub"]})
    assert taken.status_code == 200


@pytest.mark.parametrize(
    ("one", "other", "is_one_caller"),
    [
        (1, "1", True),
        (1, 1.0, True),
        (True, "true", True),
        (["a", "b"], "[a b]", True),
        (["a", "b"], ["a b"], True),
        ({"a": 1}, "map[a:1]", True),
        ("1", "01", False),
        ("a", "A", False),
        ("a", "a ", False),
    ],
)
def test_claims_are_compared_as_api_gateway_writes_them(one: Any, other: Any, is_one_caller: bool) -> None:
    """So docs/sign_in.md asks for claims with a single text, which meet only their equals."""

    def principal(subject: Any) -> Any:
        signed_in = SignedIn({"iss": "https://issuer.example", "sub": subject}, ())
        return SignIn("salt").caller_of({"requestContext": {"authorizer": authorizer_context(signed_in, ())}}).principal

    assert (principal(one) == principal(other)) == is_one_caller


@pytest.mark.parametrize(("known", "accepted"), [((), False), (("the-confidential-client",), True)])
def test_a_token_of_the_confidential_client_is_for_an_authorizer_that_knows_it(
    known: tuple[str, ...], accepted: bool
) -> None:
    """Cognito's tokens for machines have no aud, so API Gateway compares client_id."""
    with TestIssuer() as issuer:
        token = issuer.valid(aud=None, client_id="the-confidential-client", sub="the-confidential-client")
        authorizer = JwtAuthorizer(issuer.url, ("https://endpoint.example/mcp", "the-public-client", *known))
        keys = {KID: own_key().public_key()}

        if accepted:
            assert (
                sign_in(token, authorizer, lambda: keys, datetime.now(UTC)).claims["sub"] == "the-confidential-client"
            )
        else:
            with pytest.raises(InvalidToken, match="audience"):
                sign_in(token, authorizer, lambda: keys, datetime.now(UTC))
