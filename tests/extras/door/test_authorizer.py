"""Claim by claim: the REST API's authorizer takes the tokens that the HTTP API's takes, and for the same caller."""

import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256

from packages.local.tests.issuer import AUDIENCE, DISCOVERY, KID, TestIssuer, own_key, public_jwk, signed, unknown_key
from stepwire.aws.gateway import SignIn
from stepwire.errors import AccessDenied
from stepwire.extras.door.authorizer import AuthorizerHandler
from stepwire.extras.door.rest_events import http_event_of
from stepwire.principal import Caller
from stepwire.protocol.tokens import encode
from stepwire_local.gateway import jwt_tokens
from stepwire_local.gateway.issuers import Issuer
from stepwire_local.gateway.jwt_tokens import InvalidToken, JwtAuthorizer
from tests.extras.door.rest_events import rest_event_of
from tests.recorded import recorded

ARN: Final = "arn:aws:execute-api:eu-central-1:123456789012:a1b2c3d4e5/live/POST/mcp"
AUDIENCES: Final = (AUDIENCE, "a client")
SIGN_IN: Final = SignIn("a stack", claims=("iss", "sub|client_id"))
Verdict = tuple[str, Caller | None, dict[str, str]]
REFUSED: Final[Verdict] = ("refused by the authorizer", None, {})


@pytest.fixture(scope="module")
def issuer() -> Iterator[TestIssuer]:
    with TestIssuer() as served:
        yield served


@pytest.fixture
def authorizer(issuer: TestIssuer, monkeypatch: pytest.MonkeyPatch) -> AuthorizerHandler:
    monkeypatch.setenv("ISSUER", issuer.url)
    monkeypatch.setenv("AUDIENCES", ",".join(AUDIENCES))
    return AuthorizerHandler()


def of_http_api(token: str, issuer: TestIssuer) -> Verdict:
    """Return what becomes of a request with a token at the HTTP API, as the local stack simulates it."""
    rules = JwtAuthorizer(issuer.url, AUDIENCES)
    try:
        caller = jwt_tokens.sign_in(token, rules, Issuer(issuer.url).keys, datetime.now(UTC))
    except InvalidToken:
        return REFUSED
    event = recorded("http_post_jwt")
    event["headers"]["authorization"] = f"Bearer {token}"
    event["requestContext"]["authorizer"] = jwt_tokens.authorizer_context(caller, ())
    return of_function(event)


def of_rest_api(token: str, authorizer: AuthorizerHandler) -> Verdict:
    """Return what becomes of the same request at the REST API."""
    answered = asked(authorizer, f"Bearer {token}")
    if answered["policyDocument"]["Statement"][0]["Effect"] == "Deny":
        return REFUSED
    event = recorded("http_post_jwt")
    event["headers"]["authorization"] = f"Bearer {token}"
    return of_function(http_event_of(rest_event_of(event, answered["context"])))


def of_function(event: dict[str, Any]) -> Verdict:
    try:
        caller = SIGN_IN.caller_of(event)
    except AccessDenied as error:
        return f"{type(error).__name__} {error.data}", None, {}
    return "served", caller, {**caller.claims, "every value": str([caller.claims.get("groups")])}


def asked(authorizer: AuthorizerHandler, header: str | None) -> dict[str, Any]:
    return authorizer({"type": "TOKEN", "methodArn": ARN, "authorizationToken": header}, None)


def minted(payload: bytes, header: dict[str, Any] | None = None, key: RSAPrivateKey | None = None) -> str:
    """Return a token with exactly this payload and header, which no library has looked at."""
    start = {"alg": "RS256", "typ": "JWT", "kid": KID} if header is None else header
    text = f"{encode(json.dumps(start).encode())}.{encode(payload)}"
    return f"{text}.{encode((key or own_key()).sign(text.encode(), PKCS1v15(), SHA256()))}"


NOW: Final = int(time.time())
LATER: Final = NOW + 86_400  # longer than any run of the tests
# Changes of the claims of a valid token; None leaves a claim out.
CLAIMS: Final[dict[str, dict[str, Any]]] = {
    "a valid token": {},
    "several audiences": {"aud": ["other", AUDIENCE]},
    "another audience": {"aud": "other"},
    "a part of the audience": {"aud": AUDIENCE[:-1]},
    "no audience in a list": {"aud": []},
    "an object for an audience": {"aud": {AUDIENCE: True}},
    "a number for an audience": {"aud": 7},
    "a list in the list of audiences": {"aud": [[AUDIENCE]]},
    "a client in place of an audience": {"aud": None, "client_id": "a client"},
    "an unknown client": {"aud": None, "client_id": "another client"},
    "neither audience nor client": {"aud": None},
    "another audience and a known client": {"aud": "other", "client_id": "a client"},
    "another issuer": {"iss": "https://evil.example"},
    "a slash more": {"iss": "{issuer}/"},
    "a list of issuers": {"iss": ["{issuer}"]},
    "no issuer": {"iss": None},
    "expired": {"exp": NOW - 1},
    "expires this second": {"exp": NOW},
    "never expires": {"exp": None},
    "a text for a time": {"exp": str(LATER)},
    "a flag for a time": {"exp": True},
    "a time with a fraction": {"exp": LATER + 0.5},
    "a time of 400 digits": {"exp": 10**400},
    "not valid yet": {"nbf": LATER},
    "no word of from when": {"nbf": None, "iat": None},
    "a text for a beginning": {"nbf": "0"},
    "issued in the future": {"iat": LATER},
    "no subject": {"sub": None},
    "no subject, and a client": {"sub": None, "client_id": "m"},
    "an empty subject": {"sub": ""},
    "an ID token": {"token_use": "id"},
    "an access token": {"token_use": "access"},
    "scopes": {"scope": "a b"},
    "a list of scopes": {"scp": ["a", "b"]},
    "scopes in brackets": {"scope": "[a b]"},
    "groups": {"groups": ["a b", "c", "[d]", 1, True, None, {"k": [1]}]},
    "numbers": {"age": 7, "half": 0.5, "whole": 3.0, "less": -1, "sure": True, "unsure": False},
    "an object": {"of": {"b": 1, "a": {"c": []}}},
    "letters": {"name": "Grüße 🎉 \u2028 \ud83d", "quote": '"\\\n'},
    "a subject that is a number": {"sub": 7},
    "a subject that is a list": {"sub": ["a", "b"]},
    "many claims": {f"claim{number}": "x" * 20 for number in range(150)},
}


@pytest.mark.parametrize("changes", CLAIMS.values(), ids=CLAIMS)
def test_a_token_has_the_same_verdict_claims_and_caller_at_either_door(
    issuer: TestIssuer, authorizer: AuthorizerHandler, changes: dict[str, Any]
) -> None:
    usual = {"iss": issuer.url, "sub": "somebody", "aud": AUDIENCE, "iat": NOW, "nbf": NOW, "exp": LATER}
    filled = json.loads(json.dumps(changes).replace("{issuer}", issuer.url))
    claims = {name: value for name, value in (usual | filled).items() if value is not None}
    token = minted(json.dumps(claims).encode())

    at_http, at_rest = of_http_api(token, issuer), of_rest_api(token, authorizer)

    assert at_rest == at_http


def test_the_table_has_tokens_that_are_served_and_each_way_to_be_refused(
    issuer: TestIssuer, authorizer: AuthorizerHandler
) -> None:
    said = {of_rest_api(issuer.valid(**changes), authorizer)[0].split()[0] for changes in ({}, {"sub": None})}

    assert said | {of_rest_api(issuer.valid(token_use="id"), authorizer)[0].split()[0]} == {
        "served",
        "IncompleteIdentity",
        "InvalidToken",
    }


def nested(claims: dict[str, Any], levels: int) -> bytes:
    """Return claims with one more that has these levels."""
    return json.dumps(claims)[:-1].encode() + b', "deep": ' + b'{"a": ' * levels + b"1" + b"}" * levels + b"}"


FORGED: Final[dict[str, Callable[[TestIssuer], str]]] = {
    "nonsense": lambda _: "nonsense",
    "nothing": lambda _: "..",
    "two parts": lambda issuer: issuer.valid().rpartition(".")[0],
    "five parts": lambda issuer: issuer.valid() + ".a.b",
    "no JSON": lambda _: minted(b"{"),
    "a list": lambda _: minted(b"[]"),
    "a header that is a list": lambda _: f"{encode(b'[]')}.{encode(b'{}')}.AA",
    "deep": lambda _: f"{encode(b'[' * 5_000)}.AA.AA",
    "deep claims": lambda issuer: minted(nested(issuer.claims(), 100)),
    "algorithm none": TestIssuer.of_algorithm_none,
    "unsigned": TestIssuer.unsigned,
    "tampered": TestIssuer.tampered,
    "another key": TestIssuer.signed_by_another_key,
    "the public key as a secret": TestIssuer.with_the_public_key_as_secret,
    "no kid": lambda issuer: signed(issuer.claims(), kid=None),
    "an unknown kid": lambda issuer: signed(issuer.claims(), kid="another"),
    "a kid that is a number": lambda issuer: minted(json.dumps(issuer.claims()).encode(), {"alg": "RS256", "kid": 7}),
    "a padding of PSS": lambda issuer: signed(issuer.claims(), algorithm="PS256"),
    "another algorithm's digest": lambda issuer: minted(
        json.dumps(issuer.claims()).encode(), {"alg": "RS512", "kid": KID}
    ),
    "too long": lambda issuer: issuer.valid(name="x" * 10_240),
    "two tokens": lambda issuer: f"{issuer.valid()},{issuer.valid()}",
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_a_forged_token_is_refused_with_the_same_words(
    issuer: TestIssuer, authorizer: AuthorizerHandler, forge: Callable[[TestIssuer], str]
) -> None:
    refused = asked(authorizer, forge(issuer))

    assert refused == asked(authorizer, "Bearer redacted")
    statement = {"Effect": "Deny", "Action": "execute-api:Invoke", "Resource": ARN}
    assert refused["policyDocument"]["Statement"] == [statement]


@pytest.mark.parametrize("algorithm", ["RS256", "RS384", "RS512"])
@pytest.mark.parametrize("prefix", ["Bearer ", "bearer  ", ""])
def test_the_algorithms_of_rsa_are_taken_with_and_without_the_word_bearer(
    issuer: TestIssuer, authorizer: AuthorizerHandler, algorithm: str, prefix: str
) -> None:
    answered = asked(authorizer, prefix + signed(issuer.claims(), algorithm=algorithm))

    assert answered["policyDocument"]["Statement"] == [
        {"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": ARN}
    ]


@pytest.mark.parametrize("header", [None, "", "Bearer", "Basic YTpi"])
def test_a_request_without_a_token_is_refused(authorizer: AuthorizerHandler, header: str | None) -> None:
    assert "context" not in asked(authorizer, header)


def test_the_keys_are_read_once_however_many_tokens_there_are(
    issuer: TestIssuer, authorizer: AuthorizerHandler
) -> None:
    issuer.asked.clear()

    for _ in range(3):
        asked(authorizer, issuer.valid())
        asked(authorizer, signed(issuer.claims(), kid="unknown", key=unknown_key()))
        asked(authorizer, "Bearer redacted")

    assert issuer.asked == [DISCOVERY, "/keys"]


def test_a_bad_token_alone_asks_nobody(issuer: TestIssuer, authorizer: AuthorizerHandler) -> None:
    issuer.asked.clear()

    asked(authorizer, issuer.of_algorithm_none())
    asked(authorizer, "Bearer a.b.c")

    assert issuer.asked == []


def test_an_issuer_that_does_not_answer_is_in_the_log_and_lets_nobody_in(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with TestIssuer() as issuer:
        token = issuer.valid()
    monkeypatch.setenv("ISSUER", issuer.url)
    monkeypatch.setenv("AUDIENCES", AUDIENCE)

    answered = asked(AuthorizerHandler(), f"Bearer {token}")

    assert answered["policyDocument"]["Statement"][0]["Effect"] == "Deny"
    assert [(line.levelname, line.message, vars(line)["reason"]) for line in caplog.records] == [
        ("ERROR", "the issuer's keys cannot be read", "URLError"),
        ("INFO", "a token is refused", "the token's key is none of the issuer's"),
    ]


def test_the_log_has_nothing_of_a_token(
    issuer: TestIssuer, authorizer: AuthorizerHandler, caplog: pytest.LogCaptureFixture
) -> None:
    token = issuer.valid(aud="a-secret-audience", sub="a-secret-subject")

    asked(authorizer, f"Bearer {token}")

    said = str([vars(line) for line in caplog.records])
    assert "the token is for another audience" in said
    assert not [part for part in (*token.split("."), "a-secret", "AUDIENCE") if part in said]


def test_keys_that_are_weak_or_for_something_else_verify_nothing(
    issuer: TestIssuer, authorizer: AuthorizerHandler
) -> None:
    weak = generate_private_key(65537, 1024)
    jwk = public_jwk(weak, "weak")
    token = minted(json.dumps(issuer.claims()).encode(), {"alg": "RS256", "kid": "weak"}, weak)
    usual = issuer.documents["/keys"]
    issuer.documents["/keys"] = {"keys": [jwk, *usual["keys"]]}

    answered = asked(authorizer, token)

    issuer.documents["/keys"] = usual
    assert "context" not in answered
