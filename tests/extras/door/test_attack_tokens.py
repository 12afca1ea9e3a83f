"""Tokens of the kinds that an attack tried at the REST API's door, each with its verdict.

All are signed by the issuer's key unless their name says otherwise, so that nothing but the row's subject decides.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1
from cryptography.hazmat.primitives.asymmetric.ec import generate_private_key as generate_ec_key
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, PSS, PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256

from packages.local.tests.issuer import AUDIENCE, DISCOVERY, KID, TestIssuer, own_key, public_jwk, unknown_key
from stepwire.extras.door.authorizer import AuthorizerHandler
from stepwire.protocol.tokens import encode

HEADER: Final[dict[str, Any]] = {"alg": "RS256", "typ": "JWT", "kid": KID}
LATER: Final = 4_000_000_000
EVIL: Final = "https://evil.example"
Signer = Callable[[bytes], bytes]


@pytest.fixture(scope="module")
def issuer() -> Iterator[TestIssuer]:
    with TestIssuer() as served:
        yield served


@pytest.fixture(scope="module")
def authorizer(issuer: TestIssuer) -> Iterator[AuthorizerHandler]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ISSUER", issuer.url)
        patch.setenv("AUDIENCES", AUDIENCE)
        handler = AuthorizerHandler()
        handler({"methodArn": "a", "authorizationToken": f"Bearer {issuer.valid()}"}, None)  # reads the keys
        yield handler


def true_signature(text: bytes) -> bytes:
    return own_key().sign(text, PKCS1v15(), SHA256())


def token(header: bytes, claims: bytes, sign: Signer = true_signature) -> str:
    text = f"{encode(header)}.{encode(claims)}"
    return f"{text}.{encode(sign(text.encode()))}"


def claims_of(issuer: TestIssuer, **changes: Any) -> dict[str, Any]:
    usual = {"iss": issuer.url, "aud": AUDIENCE, "sub": "alice", "iat": 0, "nbf": 0, "exp": LATER}
    return {**usual, **changes}


def is_allowed(authorizer: AuthorizerHandler, text: str) -> bool:
    answered = authorizer({"methodArn": "a", "authorizationToken": f"Bearer {text}"}, None)
    return answered["policyDocument"]["Statement"][0]["Effect"] == "Allow"


def with_member(members: dict[str, Any], text: str) -> bytes:
    """Write an object and one more member behind the others, which may have a name that is there."""
    return f"{json.dumps(members)[:-1]}, {text}}}".encode()


def nested(levels: int) -> str:
    return '"deep": ' + "[" * levels + "]" * levels


# ---------------------------------------------------------------------------------------------------------- the header

JWK: Final = public_jwk(unknown_key(), KID)
HEADERS: Final[list[tuple[dict[str, Any], bool]]] = [
    *(({"alg": alg}, False) for alg in ("none", "None", "", "rs256", "HS256", "PS256", "ES256", None, True, ["RS256"])),
    *(({"kid": kid}, False) for kid in (None, True, 7, [KID], {KID: 1}, "", f"../{KID}", KID.upper(), f"{KID}\0")),
    *(({"crit": crit}, False) for crit in (["exp"], [], None)),
    ({"b64": False}, False),
    ({"b64": False, "crit": ["b64"]}, False),
    # What a header says of keys is not read: only the issuer's key verifies.
    ({"jwk": JWK}, True),
    ({"jku": f"{EVIL}/keys"}, True),
    ({"x5u": EVIL, "x5c": ["AA"]}, True),
    ({"typ": "at+jwt"}, True),
]


@pytest.mark.parametrize(("changes", "allowed"), HEADERS, ids=lambda one: str(one)[:40])  # a key is made in each run
def test_a_header_decides_nothing_but_which_key_of_the_issuer(
    issuer: TestIssuer, authorizer: AuthorizerHandler, changes: dict[str, Any], allowed: bool
) -> None:
    made = token(json.dumps(HEADER | changes).encode(), json.dumps(claims_of(issuer)).encode())
    issuer.asked.clear()

    assert is_allowed(authorizer, made) is allowed
    assert not set(issuer.asked) - {DISCOVERY, "/keys"}


MODULUS: Final = own_key().public_key().public_numbers().n
SIGNERS: Final[dict[str, tuple[dict[str, Any], Signer]]] = {
    "0": ({}, lambda _: bytes(256)),
    "1": ({}, lambda _: (1).to_bytes(256, "big")),
    "n": ({}, lambda _: MODULUS.to_bytes(256, "big")),
    "n - 1": ({}, lambda _: (MODULUS - 1).to_bytes(256, "big")),
    "a byte": ({}, lambda _: b"\x01"),
    "longer": ({}, lambda text: true_signature(text) + b"\0"),
    "a zero in front": ({}, lambda text: b"\0" + true_signature(text)),
    "twice": ({}, lambda text: true_signature(text) * 2),
    "4,000 bytes": ({}, lambda _: b"\xff" * 4_000),
    "PSS under RS256": ({}, lambda text: own_key().sign(text, PSS(MGF1(SHA256()), 32), SHA256())),
    "PS256": ({"alg": "PS256"}, lambda text: own_key().sign(text, PSS(MGF1(SHA256()), 32), SHA256())),
    "ES256": ({"alg": "ES256"}, lambda text: generate_ec_key(SECP256R1()).sign(text, ECDSA(SHA256()))),
    "the key of its own jwk": ({"jwk": JWK}, lambda text: unknown_key().sign(text, PKCS1v15(), SHA256())),
    "a key at its own jku": ({"jku": EVIL}, lambda text: unknown_key().sign(text, PKCS1v15(), SHA256())),
}


@pytest.mark.parametrize(("changes", "sign"), SIGNERS.values(), ids=SIGNERS)
def test_any_other_signature_is_refused(
    issuer: TestIssuer, authorizer: AuthorizerHandler, changes: dict[str, Any], sign: Signer
) -> None:
    header, claims = json.dumps(HEADER | changes).encode(), json.dumps(claims_of(issuer)).encode()

    assert is_allowed(authorizer, token(json.dumps(HEADER).encode(), claims))
    assert not is_allowed(authorizer, token(header, claims, sign))


def test_the_same_octets_written_in_another_way_are_refused(issuer: TestIssuer, authorizer: AuthorizerHandler) -> None:
    made = token(json.dumps(HEADER).encode(), json.dumps(claims_of(issuer)).encode())

    assert is_allowed(authorizer, made)
    assert not is_allowed(authorizer, made[:-1] + chr(ord(made[-1]) + 1))  # 4 bits of the last character are spare
    assert not is_allowed(authorizer, f"{made}==")


# ---------------------------------------------------------------------------------------------------------- the claims

NO_TIMES: Final = ('"0"', f'"{LATER}"', "null", "true", "false", "[]", "{}", "NaN", "Infinity", "-Infinity", "1e400")
LONG: Final = "1" + "0" * 5_000


@pytest.mark.parametrize("name", ["exp", "nbf", "iat"])
@pytest.mark.parametrize("text", [*NO_TIMES, LONG], ids=lambda text: text[:12])
def test_a_time_that_is_no_number_is_refused(
    issuer: TestIssuer, authorizer: AuthorizerHandler, name: str, text: str
) -> None:
    claims = claims_of(issuer)
    del claims[name]

    made = token(json.dumps(HEADER).encode(), with_member(claims, f'"{name}": {text}'))

    assert not is_allowed(authorizer, made)


VALUES: Final[list[tuple[str, Any, bool]]] = [
    *(("exp", value, True) for value in (LATER, LATER + 0.5, 4e9)),
    *(("exp", value, False) for value in (0, -1, 1.5)),
    *(("nbf", value, True) for value in (0, -1, 0.5)),
    *(("aud", value, True) for value in ([AUDIENCE], ["b", AUDIENCE], [AUDIENCE, 7])),
    *(("aud", value, False) for value in ("b", ["b"], [], [None], [[AUDIENCE]], {AUDIENCE: 1}, 7, True, None, "")),
    *(("aud", value, False) for value in (AUDIENCE.upper(), f" {AUDIENCE}", f"{AUDIENCE} ", f"{AUDIENCE}\0")),
    *(("iss", value, False) for value in (EVIL, ["{issuer}"], {"{issuer}": 1}, None, 7, True, "")),
    *(("iss", f"{{issuer}}{end}", False) for end in ("/", "#", "?", " ", "\0", ".evil.example", "@evil.example")),
    ("iss", " {issuer}", False),
]


@pytest.mark.parametrize(("name", "value", "allowed"), VALUES, ids=str)
def test_times_audiences_and_issuers_have_one_form(
    issuer: TestIssuer, authorizer: AuthorizerHandler, name: str, value: Any, allowed: bool
) -> None:
    filled = json.loads(json.dumps(value).replace("{issuer}", issuer.url))

    made = token(json.dumps(HEADER).encode(), json.dumps(claims_of(issuer, **{name: filled})).encode())

    assert is_allowed(authorizer, made) is allowed


# ------------------------------------------------------------------------------------------------------------ the JSON

# Of a doubled member the last counts, here and where function mcp reads the claims.
DOUBLED: Final[dict[str, tuple[str, bool]]] = {
    "another issuer": (f'"iss": "{EVIL}"', False),
    "another audience": ('"aud": "b"', False),
    "a past end": ('"exp": 1', False),
    "another subject": ('"sub": "bob"', True),
    "99 levels": (nested(98), True),
    "101 levels": (nested(100), False),
    "3,000 levels": (nested(3_000), False),
}


@pytest.mark.parametrize(("member", "allowed"), DOUBLED.values(), ids=DOUBLED)
def test_of_doubled_claims_the_last_counts_and_levels_are_bounded(
    issuer: TestIssuer, authorizer: AuthorizerHandler, member: str, allowed: bool
) -> None:
    made = token(json.dumps(HEADER).encode(), with_member(claims_of(issuer), member))

    assert is_allowed(authorizer, made) is allowed


@pytest.mark.parametrize(("first", "last"), [("RS256", "none"), ("RS256", "HS256"), ("none", "RS256")])
def test_of_a_doubled_algorithm_the_last_counts(
    issuer: TestIssuer, authorizer: AuthorizerHandler, first: str, last: str
) -> None:
    header = with_member(HEADER | {"alg": first}, f'"alg": "{last}"')

    assert is_allowed(authorizer, token(header, json.dumps(claims_of(issuer)).encode())) is (last == "RS256")


@pytest.mark.parametrize(("encoding", "allowed"), [("utf-8", True), ("utf-16", True), ("latin-1", False)])
def test_json_is_unicode(issuer: TestIssuer, authorizer: AuthorizerHandler, encoding: str, allowed: bool) -> None:
    claims = json.dumps(claims_of(issuer, name="Grüße"), ensure_ascii=False).encode(encoding)

    assert is_allowed(authorizer, token(json.dumps(HEADER).encode(), claims)) is allowed
