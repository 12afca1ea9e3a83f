"""Sign-in with a JWT, over HTTP: which requests reach the function, its event, and the responses to the others."""

import socket
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from packages.local.tests.conftest import TEMPLATE
from packages.local.tests.issuer import AUDIENCE, DISCOVERY, KID, TestIssuer, own_key, public_jwk, signed, unknown_key
from stepwire_local import LocalStack
from stepwire_local.gateway.issuers import Issuer, is_on_this_machine
from stepwire_local.gateway.jwt_tokens import InvalidToken, token_of
from tests.waiting import HANG_GUARD

INVALID = 'Bearer scope="" error="invalid_token" error_description='


@pytest.fixture(scope="module")
def issuer() -> Iterator[TestIssuer]:
    with TestIssuer() as served:
        yield served


@contextmanager
def guarded(issuer_url: str, **parameters: str) -> Generator[LocalStack]:
    given = {"Authorizer": "jwt", "JwtIssuer": issuer_url, "JwtAudience": AUDIENCE, **parameters}
    with LocalStack(TEMPLATE, parameters=given) as stack:
        yield stack


@pytest.fixture(scope="module")
def entrance(issuer: TestIssuer) -> Iterator[LocalStack]:
    with guarded(issuer.url) as stack:
        yield stack


@pytest.fixture(scope="module")
def scoped(issuer: TestIssuer) -> Iterator[LocalStack]:
    with guarded(issuer.url, JwtScopes="tools:call,tools:admin") as stack:
        yield stack


def post(stack: LocalStack, token: str | None) -> httpx.Response:
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    return httpx.post(stack.url, headers=headers, json={}, timeout=HANG_GUARD)


def refused(stack: LocalStack, token: str | None) -> str:
    """Return the challenge of a request that is refused."""
    response = post(stack, token)
    assert (response.status_code, response.json()) == (401, {"message": "Unauthorized"})
    return response.headers["www-authenticate"]


def authorizer(response: httpx.Response) -> dict[str, Any]:
    return response.json()["event"]["requestContext"]["authorizer"]["jwt"]


def test_the_event_has_the_claims_of_a_valid_token(entrance: LocalStack, issuer: TestIssuer) -> None:
    claims = issuer.claims(
        aud=[AUDIENCE, "more"], age=7, half=0.5, sure=True, groups=["a", "b"], of={"k": [1]}, none={}
    )

    seen = authorizer(post(entrance, signed(claims)))

    assert seen == {
        "claims": {
            "iss": issuer.url,
            "sub": "somebody",
            "aud": "[test more]",
            "iat": str(claims["iat"]),
            "nbf": str(claims["nbf"]),
            "exp": str(claims["exp"]),
            "age": "7",
            "half": "0.5",
            "sure": "true",
            "groups": "[a b]",
            "of": "map[k:[1]]",
            "none": "map[]",
        },
        "scopes": None,
    }


@pytest.mark.parametrize("algorithm", ["RS256", "RS384", "RS512"])
def test_the_algorithms_of_rsa_are_taken(entrance: LocalStack, issuer: TestIssuer, algorithm: str) -> None:
    assert post(entrance, signed(issuer.claims(), algorithm=algorithm)).status_code == 200


def test_the_client_id_replaces_a_missing_audience(entrance: LocalStack, issuer: TestIssuer) -> None:
    assert post(entrance, issuer.valid(aud=None, client_id=AUDIENCE)).status_code == 200
    assert "valid audience" in refused(entrance, issuer.valid(aud="other", client_id=AUDIENCE))


def test_a_token_is_accepted_without_the_word_bearer(entrance: LocalStack, issuer: TestIssuer) -> None:
    response = httpx.post(entrance.url, headers={"authorization": issuer.valid()}, json={}, timeout=HANG_GUARD)

    assert response.status_code == 200


def test_a_request_without_a_token_is_challenged(entrance: LocalStack) -> None:
    assert refused(entrance, None) == "Bearer"


@dataclass(frozen=True)
class Bad:
    """An invalid token, and the error that the client gets."""

    mint: Callable[[TestIssuer], str]
    reason: str


BAD = {
    "nonsense": Bad(lambda _: "nonsense", "token is malformed"),
    "algorithm none": Bad(TestIssuer.of_algorithm_none, "signing method none is invalid"),
    "HS256": Bad(TestIssuer.with_the_public_key_as_secret, "signing method HS256 is invalid"),
    "PS256": Bad(lambda issuer: signed(issuer.claims(), algorithm="PS256"), "signing method PS256 is invalid"),
    "no kid": Bad(lambda issuer: signed(issuer.claims(), kid=None), "the token does not have a kid"),
    "unknown kid": Bad(lambda issuer: signed(issuer.claims(), kid="x"), "signed with an unknown key"),
    "unsigned": Bad(TestIssuer.unsigned, "invalid signature"),
    "another key": Bad(TestIssuer.signed_by_another_key, "invalid signature"),
    "tampered": Bad(TestIssuer.tampered, "invalid signature"),
    "another issuer": Bad(lambda issuer: issuer.valid(iss="http://other"), "a valid issuer"),
    "no issuer": Bad(lambda issuer: issuer.valid(iss=None), "a valid issuer"),
    "another audience": Bad(TestIssuer.for_another_audience, "a valid audience"),
    "no audience": Bad(lambda issuer: issuer.valid(aud=None), "a valid audience"),
    "expired": Bad(TestIssuer.expired, "the token has expired"),
    "no exp": Bad(lambda issuer: issuer.valid(exp=None), "the token has expired"),
    "exp is text": Bad(lambda issuer: signed(issuer.claims() | {"exp": "9999999999"}), "the token has expired"),
    "never expires": Bad(lambda issuer: signed(issuer.claims() | {"exp": float("inf")}), "the token has expired"),
    "not yet": Bad(lambda issuer: issuer.valid(nbf=int(time.time()) + 60), "not valid yet"),
    "future": Bad(lambda issuer: issuer.valid(iat=int(time.time()) + 60), "issued in the future"),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
def test_an_invalid_token_is_refused(entrance: LocalStack, issuer: TestIssuer, bad: Bad) -> None:
    challenge = refused(entrance, bad.mint(issuer))

    assert challenge.startswith(INVALID)
    assert bad.reason in challenge


def test_the_algorithm_of_a_token_is_escaped_in_the_challenge(entrance: LocalStack, issuer: TestIssuer) -> None:
    rest = issuer.valid().partition(".")[2]
    header = "eyJhbGciOiJ4XCIsIGVycm9yPVwieVxyXG4iLCJraWQiOiJ0aGUta2V5In0"  # alg: x", error="y and a line end

    challenge = refused(entrance, f"{header}.{rest}")

    assert challenge.count('"') == 6


@pytest.mark.parametrize(
    "claims",
    [{"scope": "other tools:call"}, {"scp": ["tools:admin"]}, {"scp": "tools:call"}, {"scope": ["tools:call"]}],
)
def test_one_of_the_scopes_of_a_route_is_enough(scoped: LocalStack, issuer: TestIssuer, claims: Any) -> None:
    response = post(scoped, issuer.valid(**claims))

    assert response.status_code == 200
    assert {"tools:call", "tools:admin"} & set(authorizer(response)["scopes"])


@pytest.mark.parametrize("claims", [{}, {"scope": "tools:cal tools"}, {"scope": 7}, {"scp": ["x"]}])
def test_a_token_without_a_scope_of_the_route_is_forbidden(scoped: LocalStack, issuer: TestIssuer, claims: Any) -> None:
    response = post(scoped, issuer.valid(**claims))

    assert (response.status_code, response.json()) == (403, {"message": "Forbidden"})
    assert response.headers["www-authenticate"].startswith(
        'Bearer scope="tools:call tools:admin" error="insufficient_scope"'
    )


def test_the_scopes_of_an_invalid_token_do_not_count(scoped: LocalStack, issuer: TestIssuer) -> None:
    assert "expired" in refused(scoped, issuer.expired(scope="tools:call"))


def test_a_route_without_sign_in_is_open(entrance: LocalStack) -> None:
    response = httpx.get(f"{entrance.base_url}/items/7", timeout=HANG_GUARD)

    assert response.status_code == 200
    assert "authorizer" not in response.json()["event"]["requestContext"]


def test_keys_are_fetched_once(issuer: TestIssuer) -> None:
    with guarded(issuer.url) as stack:
        issuer.asked.clear()
        answers = [post(stack, issuer.valid()) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200] * 3
    assert issuer.asked == [DISCOVERY, "/keys"]


def test_a_new_key_is_unknown_until_the_cached_keys_expire(issuer: TestIssuer) -> None:
    with TestIssuer() as rotating, guarded(rotating.url) as stack:
        assert post(stack, rotating.valid()).status_code == 200

        rotating.documents["/keys"]["keys"].append(public_jwk(unknown_key(), "new"))

        assert "unknown key" in refused(stack, signed(rotating.claims(), key=unknown_key(), kid="new"))


def test_an_unavailable_issuer_is_tried_again() -> None:
    with TestIssuer() as late:
        keys = late.documents.pop("/keys")
        with guarded(late.url) as stack:
            assert "JWKS communication error" in refused(stack, late.valid())

            late.documents["/keys"] = keys

            assert post(stack, late.valid()).status_code == 200


def test_an_unreachable_issuer_means_401(issuer: TestIssuer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}"
    with guarded(nobody) as stack:
        challenge = refused(stack, issuer.valid(iss=nobody))

    assert challenge == f'{INVALID}"OIDC discovery endpoint communication error"'


def test_an_issuer_on_another_machine_is_not_contacted(issuer: TestIssuer) -> None:
    with guarded("https://issuer.example") as stack:
        challenge = refused(stack, issuer.valid(iss="https://issuer.example"))

    assert "communication error" in challenge
    assert (
        "JwtAuthorizer: https://issuer.example is not on this machine, so its keys are not fetched" in stack.not_served
    )


def test_a_discovery_document_cannot_redirect_to_another_machine() -> None:
    with TestIssuer() as astray:
        astray.documents[DISCOVERY]["jwks_uri"] = "http://keys.example/keys"

        with pytest.raises(InvalidToken, match="JWKS communication error"):
            Issuer(astray.url).keys()


@pytest.mark.parametrize("document", [[], {"jwks_uri": 7}, {}, "text"])
def test_an_invalid_discovery_document_is_an_error(document: Any) -> None:
    with TestIssuer() as confused:
        confused.documents[DISCOVERY] = document

        with pytest.raises(InvalidToken, match="communication error"):
            Issuer(confused.url).keys()


@pytest.mark.parametrize("document", [[], {"keys": 7}, {"keys": ["x"]}, {"keys": [{"kty": "RSA", "kid": "x"}]}])
def test_invalid_keys_are_an_error(document: Any) -> None:
    with TestIssuer() as confused:
        confused.documents["/keys"] = document

        with pytest.raises(InvalidToken, match="JWKS communication error"):
            Issuer(confused.url).keys()


def test_keys_of_other_types_are_ignored() -> None:
    with TestIssuer() as rich:
        others: list[Any] = [{"kty": "EC", "kid": "ec"}, public_jwk(own_key(), "enc") | {"use": "enc"}, {"kty": "RSA"}]
        rich.documents["/keys"]["keys"] += others

        assert list(Issuer(rich.url).keys()) == [KID]


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://127.0.0.1:8000", True),
        ("http://localhost/pool", True),
        ("http://[::1]:1", True),
        ("https://127.0.0.1", False),
        ("http://127.0.0.1.example", False),
        ("http://127.0.0.1@evil.example", False),
        ("http://10.0.0.1", False),
        ("ftp://localhost", False),
        ("nonsense", False),
    ],
)
def test_only_http_to_a_loopback_address_is_this_machine(url: str, here: bool) -> None:
    assert is_on_this_machine(url) is here


@pytest.mark.parametrize(
    ("source", "headers", "query", "token"),
    [
        ("$request.header.Authorization", [("AUTHORIZATION", "bearer  t")], "", "t"),
        ("$request.header.X-Token", [("x-token", "t")], "", "t"),
        ("$request.querystring.token", [], "a=1&token=t", "t"),
        ("$request.header.Authorization", [("authorization", "Bearer ")], "", "Bearer"),
        ("$request.header.Authorization", [("authorization", "")], "", None),
        ("$request.header.Authorization", [], "Authorization=t", None),
    ],
)
def test_a_token_is_taken_from_its_identity_source(source: str, headers: Any, query: str, token: str | None) -> None:
    assert token_of(source, headers, query) == token
