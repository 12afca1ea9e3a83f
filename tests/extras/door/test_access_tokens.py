"""Signatures and keys of RSA: only what RFC 8017 calls valid is, and keys are read seldom."""

import hashlib
import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from packages.local.tests.issuer import KID, own_key, public_jwk
from stepwire.aws.issuer_documents import Unanswered
from stepwire.extras.door.access_tokens import Rules, TokenRefused, keys_in, verified_claims
from stepwire.extras.door.issuer_keys import IssuerKeys
from stepwire.json_text import JsonObject
from stepwire.protocol.tokens import encode

AT: Final = datetime(2026, 11, 26, 3, 0, tzinfo=UTC)
RULES: Final = Rules("https://issuer.example", frozenset({"a"}))
CLAIMS: Final = {"iss": RULES.issuer, "aud": "a", "sub": "alice", "exp": AT.timestamp() + 60}
SIGNED: Final = f"{encode(json.dumps({'alg': 'RS256', 'kid': KID}).encode())}.{encode(json.dumps(CLAIMS).encode())}"
JWK: Final = public_jwk(own_key(), KID)
DIGEST: Final = hashlib.sha256(SIGNED.encode()).digest()
PREFIX: Final = bytes.fromhex("3031300d060960864801650304020105000420")


def signature_of(encoding: bytes) -> bytes:
    """Return what the owner of the key would sign an encoding with, whatever it says."""
    private = own_key().private_numbers()
    number = pow(int.from_bytes(encoding, "big"), private.d, private.public_numbers.n)
    return number.to_bytes(256, "big")


def padded(end: bytes, padding: bytes = b"\xff", start: bytes = b"\x00\x01") -> bytes:
    return start + padding * (256 - len(end) - 3) + b"\x00" + end


def claims_with(signature: bytes) -> JsonObject:
    return verified_claims(f"{SIGNED}.{encode(signature)}", RULES, keys_in({"keys": [JWK]}).get, AT)


TRUE: Final = signature_of(padded(PREFIX + DIGEST))


def test_a_true_signature_is_taken() -> None:
    assert claims_with(TRUE) == CLAIMS


FALSE: Final = {
    # Bleichenbacher's forgery: a verifier that parses stops before the garbage.
    "a short padding, and garbage at the end": signature_of(
        (b"\x00\x01" + b"\xff" * 8 + b"\x00" + PREFIX + DIGEST).ljust(256, b"\x07")
    ),
    "another padding": signature_of(padded(PREFIX + DIGEST, b"\xfe")),
    "another type of block": signature_of(padded(PREFIX + DIGEST, start=b"\x00\x02")),
    "a digest without its name": signature_of(padded(DIGEST)),
    "another digest": signature_of(padded(PREFIX + hashlib.sha256(b"").digest())),
    "a name without parameters": signature_of(
        padded(bytes.fromhex("302f300b0609608648016503040201") + b"\x04\x20" + DIGEST)
    ),
    "more than the modulus": (int.from_bytes(TRUE, "big") + own_key().public_key().public_numbers().n).to_bytes(
        257, "big"
    ),
    "a zero in front": b"\x00" + TRUE,
    "a byte less": TRUE[:-1],
    "one": (1).to_bytes(256, "big"),
    "zero": bytes(256),
    "the largest": b"\xff" * 256,
}


@pytest.mark.parametrize("signature", FALSE.values(), ids=FALSE)
def test_any_other_signature_is_refused(signature: bytes) -> None:
    with pytest.raises(TokenRefused, match="signature is wrong"):
        claims_with(signature)


def number(value: int) -> str:
    return encode(value.to_bytes((value.bit_length() + 7) // 8, "big"))


@pytest.mark.parametrize(
    "changes",
    [
        {"kty": "EC"},
        {"use": "enc"},
        {"n": None},
        {"e": None},
        {"e": number(1)},
        {"e": number(4)},
        {"e": number(2**32 + 1)},
        {"n": number(2**2047)},
        {"n": number(2**1024 + 1)},
        {"n": number(2**9000 + 1)},
        {"n": "!"},
        {"n": 7},
        {"kid": None},
    ],
)
def test_a_key_that_verifies_nothing_is_left_out(changes: dict[str, Any]) -> None:
    changed = {name: value for name, value in (JWK | changes).items() if value is not None}

    assert keys_in({"keys": [changed, JWK | {"kid": "good"}]}).keys() == {"good"}


@pytest.mark.parametrize("document", [{}, {"keys": None}, {"keys": "a"}, {"keys": ["a", 7, None]}, {"keys": {"a": 1}}])
def test_a_document_without_keys_has_none(document: JsonObject) -> None:
    assert keys_in(document) == {}


# ---------------------------------------------------------------------------------------------- how often they are read


class Told:
    """An issuer that tells these keys, or does not answer."""

    def __init__(self) -> None:
        self.keys: list[JsonObject] | None = [JWK]
        self.times = 0
        self.reported: list[Unanswered] = []
        self.cached = IssuerKeys("https://issuer.example", self.reported.append, self.read)

    def read(self, _issuer: str) -> JsonObject:
        self.times += 1
        if self.keys is None:
            raise Unanswered("TimeoutError")
        return {"keys": self.keys}

    def knows(self, kid: str, **after: float) -> bool:
        return self.cached.key_of(kid, AT + timedelta(**after)) is not None


def test_keys_are_read_again_after_two_hours() -> None:
    issuer = Told()

    assert [issuer.knows(KID, minutes=minutes) for minutes in (0, 1, 119)] == [True, True, True]
    assert issuer.times == 1
    issuer.keys = []
    assert (issuer.knows(KID, minutes=121), issuer.times) == (False, 2)


def test_a_new_key_is_known_after_a_minute_and_unknown_ones_ask_no_more_often() -> None:
    issuer = Told()
    assert not issuer.knows("new")
    issuer.keys = [JWK, JWK | {"kid": "new"}]

    seen = [issuer.knows("new", seconds=seconds) for seconds in (1, 59, 61, 62)]

    assert (seen, issuer.times) == ([False, False, True, True], 2)
    assert [issuer.knows(f"made up {number}", seconds=63 + number) for number in range(50)] == [False] * 50
    assert issuer.times == 2


def test_of_an_issuer_that_does_not_answer_the_last_keys_count_for_a_day() -> None:
    issuer = Told()
    assert issuer.knows(KID)
    issuer.keys = None

    assert [issuer.knows(KID, hours=hours) for hours in (3, 23.9, 24.1)] == [True, True, False]
    assert [str(one) for one in issuer.reported] == ["TimeoutError"] * 3
    issuer.keys = [JWK]
    assert issuer.knows(KID, hours=25)


def test_an_issuer_that_never_answered_has_no_keys_and_is_asked_again_after_ten_seconds() -> None:
    issuer = Told()
    issuer.keys = None

    assert [issuer.knows(KID, seconds=seconds) for seconds in (0, 10, 11, 21)] == [False] * 4
    assert issuer.times == 2
    issuer.keys = [JWK]
    assert [issuer.knows("new", seconds=seconds) for seconds in (22, 32, 82)] == [False] * 3
    assert (issuer.knows(KID, seconds=82), issuer.times) == (True, 3)
