"""Tokens as a REST API asks function authorizer about them, and what function mcp then reads of an accepted one.

An input is {"header", "claims": JSON texts, "signature": base64url, or null for the signature of the issuer's key,
"before", "after": what surrounds the token in the header Authorization}. A token is accepted only if the signature is
the one that the key makes of it, its base64url is as RFC 4648 writes it, and its claims name this endpoint and this
time. The claims are fuzzed as if anybody could have them signed.
"""

import base64
import hashlib
import json
import math
import re
import time
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Final

from stepwire.aws.gateway import SignIn
from stepwire.errors import AccessDenied
from stepwire.extras.door.access_tokens import LONGEST_TOKEN, Rules
from stepwire.extras.door.authorizer import AuthorizerHandler
from stepwire.extras.door.bearer_tokens import VERIFIED
from stepwire.extras.door.issuer_keys import IssuerKeys
from stepwire.extras.door.rest_events import http_event_of
from stepwire.json_text import Json, JsonObject, as_list, as_object
from stepwire.protocol.tokens import encode
from tests.extras.door.rest_events import rest_event_of
from tests.fuzz.bounds import bounded
from tests.recorded import recorded

RULES: Final = Rules("https://issuer.example", frozenset({"the endpoint", "a client"}))
KID: Final = "the-key"
SIGN_IN: Final = SignIn("a stack")
ARN: Final = recorded("extras/door/token_to_verify")["methodArn"]
LATER: Final = 4_000_000_000
_EXPONENT: Final = 65_537
_PREFIXES: Final = {
    "RS256": ("sha256", "3031300d060960864801650304020105000420"),
    "RS384": ("sha384", "3041300d060960864801650304020205000430"),
    "RS512": ("sha512", "3051300d060960864801650304020305000440"),
}
_SIZE: Final = 256  # bytes of a signature
_PRIMES: Final = 8
_BASE64URL: Final = re.compile(r"[\w-]+", re.ASCII)
_DEEPEST: Final = 100  # levels
_HEADER: Final = {"alg": "RS256", "typ": "JWT", "kid": KID}
_CLAIMS: Final[JsonObject] = {"iss": RULES.issuer, "aud": "the endpoint", "sub": "alice", "exp": LATER}


# ------------------------------------------------------------------------------------------------------------- the key


@cache
def _primes() -> list[int]:
    """Return the primes of the key: eight short ones, with which signing takes a fiftieth of the time of two."""
    chance, found = Random("a key for tests"), list[int]()
    while len(found) < _PRIMES:
        number = chance.getrandbits(_SIZE) | 0b1111 << (_SIZE - 4) | 1
        if pow(2, number - 1, number) == 1 and (number - 1) % _EXPONENT:
            found.append(number)
    return found


@cache
def _jwks() -> JsonObject:
    """Return the key as the issuer publishes it, beside one that verifies nothing."""
    modulus = encode(_modulus().to_bytes(_SIZE, "big"))
    return {"keys": [{"kty": "EC", "kid": "another"}, {"kty": "RSA", "kid": KID, "n": modulus, "e": "AQAB"}]}


@cache
def _modulus() -> int:
    return math.prod(_primes())


def _signature_of(text: str, algorithm: str) -> bytes:
    """Return the signature of the key, RSASSA-PKCS1-v1_5: the only one that is valid for a text."""
    name, prefix = _PREFIXES[algorithm]
    end = b"\x00" + bytes.fromhex(prefix) + hashlib.new(name, text.encode()).digest()
    number = int.from_bytes(b"\x00\x01" + end.rjust(_SIZE - 2, b"\xff"), "big")
    signed, modulus = 0, _modulus()
    for prime in _primes():
        rest = modulus // prime
        part = pow(number, pow(_EXPONENT, -1, prime - 1), prime)
        signed += part * rest * pow(rest, -1, prime)
    return (signed % modulus).to_bytes(_SIZE, "big")


# ------------------------------------------------------------------------------------------------------- what must hold


@dataclass
class _Issuer:
    """An issuer that publishes the key, and counts how often it is asked."""

    times: int = 0

    def read(self, _url: str) -> JsonObject:
        self.times += 1
        return _jwks()


def check(data: bytes) -> bool:
    """Ask the function about a token, and check the answer."""
    try:
        given = as_object(json.loads(data))
    except (ValueError, RecursionError):
        return False
    header = header_of(given)
    check_answer(header, answer_to(header))
    return True


def answer_to(header: str) -> JsonObject:
    """Return the answer of the function to a header."""
    issuer, reports = _Issuer(), list[Exception]()
    handler = AuthorizerHandler()
    # What the function builds at its first request.
    vars(handler).update(_rules=RULES, _keys=IssuerKeys(RULES.issuer, reports.append, issuer.read))
    with bounded():
        answer = handler({"type": "TOKEN", "methodArn": ARN, "authorizationToken": header}, None)
    assert issuer.times < 2, "a token must not make the function ask the issuer more often"
    assert reports == [], "the issuer has answered"
    return answer


def check_answer(header: str, answer: JsonObject) -> None:
    """Raise AssertionError unless an answer is right for a header, and function mcp reads what was verified."""
    is_allowed = "context" in answer
    statement = {"Effect": "Allow" if is_allowed else "Deny", "Action": "execute-api:Invoke", "Resource": ARN}
    policy = {"principalId": "caller", "policyDocument": {"Version": "2012-10-17", "Statement": [statement]}}
    found = re.fullmatch(r"(?:bearer \s*)?(\S+)", header.strip(), re.IGNORECASE)
    token = found[1] if found else ""
    claims = _claims_in(token)
    if not is_allowed:
        assert answer == policy, "the answer to any other token must be the same"
        assert claims is None or _is_deep(token), "a valid token must be accepted"
        return
    assert claims is not None, "only a valid token may be accepted"
    context = {VERIFIED: hashlib.sha256(token.encode()).hexdigest()}
    assert answer == {**policy, "context": context}, "the context must name this very token"
    event = recorded("http_post_jwt")
    event["headers"]["authorization"] = header
    try:
        caller = SIGN_IN.caller_of(http_event_of(rest_event_of(event, answer["context"])))
    except AccessDenied:
        return
    assert caller.claims["iss"] == RULES.issuer, "the function must read what was verified"
    assert not isinstance(claims["sub"], str) or caller.claims["sub"] == claims["sub"]
    assert caller.name, "everybody has a name"


def _claims_in(token: str) -> JsonObject | None:
    """Return the claims of a token that must be accepted; None: it must be refused."""
    parts = token.split(".")
    if len(parts) != 3 or len(token) > LONGEST_TOKEN or not all(map(_BASE64URL.fullmatch, parts)):
        return None
    if any(encode(_octets_in(part)) != part for part in parts):  # the same octets, written in another way
        return None
    header, claims = _object_in(parts[0]), _object_in(parts[1])
    algorithm = header.get("alg")
    if algorithm not in list(_PREFIXES) or header.get("kid") != KID or "crit" in header or header.get("b64") is False:
        return None
    is_signed = _octets_in(parts[2]) == _signature_of(f"{parts[0]}.{parts[1]}", algorithm)
    return claims if is_signed and _is_for_us(claims, time.time()) else None


def _is_for_us(claims: JsonObject, now: float) -> bool:
    audience: Json = claims["aud"] if "aud" in claims else claims.get("client_id")
    audiences = as_list(audience) if isinstance(audience, list) else [audience]
    times = {name: claims[name] for name in ("exp", "nbf", "iat") if name in claims}
    are_numbers = all(type(one) in (int, float) and abs(one) < math.inf for one in times.values())
    return (
        claims.get("iss") == RULES.issuer
        and any(one in list(RULES.audiences) for one in audiences)
        and are_numbers
        and times.pop("exp", 0) > now
        and all(one <= now for one in times.values())
    )


def _is_deep(token: str) -> bool:
    """Tell whether a token may be nested so deep that it is refused."""
    header, claims = map(_octets_in, token.split(".")[:2])
    return max(text.count(b"[") + text.count(b"{") for text in (header, claims)) > _DEEPEST


def _object_in(part: str) -> JsonObject:
    try:
        return as_object(json.loads(_octets_in(part)))
    except (ValueError, RecursionError):
        return {}


def _octets_in(part: str) -> bytes:
    try:
        return base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_")
    except ValueError:
        return b""


# --------------------------------------------------------------------------------------------------------------- inputs


def header_of(given: JsonObject) -> str:
    """Return the header Authorization of an input."""
    text = {name: value for name, value in given.items() if isinstance(value, str)}
    body = ".".join(encode(text.get(name, "").encode(errors="surrogatepass")) for name in ("header", "claims"))
    algorithm = _object_in(body.partition(".")[0]).get("alg")
    known = algorithm if isinstance(algorithm, str) and algorithm in _PREFIXES else "RS256"
    signature = text["signature"] if "signature" in text else encode(_signature_of(body, known))
    return f"{text.get('before', '')}{body}.{signature}{text.get('after', '')}"


def seeds() -> list[bytes]:
    """Return tokens that are accepted, with each algorithm and each kind of claim, and some that are not."""
    usual: JsonObject = {"before": "Bearer ", "after": "", "signature": None}
    headers = [{**_HEADER, "alg": algorithm} for algorithm in _PREFIXES]
    claims = [
        {**_CLAIMS, "nbf": 0, "iat": 0.5, "groups": ["a b", "c"], "scope": "a b", "email": "alice@a.example"},
        {**_CLAIMS, "aud": ["x", "the endpoint"], "of": {"b": [1, True, None]}},
        {**_CLAIMS, "aud": None, "client_id": "a client"},
        {"iss": RULES.issuer, "client_id": "a client", "sub": "alice", "exp": LATER, "token_use": "access"},
    ]
    refused = [
        {"exp": 1},
        {"nbf": LATER},
        {"iat": LATER},
        {"iss": "https://evil.example"},
        {"aud": ["x"]},
        {"exp": "1"},
    ]
    strange = [{"alg": "none"}, {"alg": "HS256"}, {"kid": "another"}, {"kid": 7}, {"crit": ["exp"]}, {"b64": False}]
    tokens = [(header, _CLAIMS) for header in (*headers, *({**_HEADER, **one} for one in strange))]
    tokens += [(_HEADER, one) for one in (*claims, *({**_CLAIMS, **one} for one in refused))]
    texts = [{**usual, "header": json.dumps(header), "claims": json.dumps(one)} for header, one in tokens]
    true = header_of({**texts[0], "before": ""}).rpartition(".")[2]
    others = [{"before": ""}, {"before": "bearer  "}, {"signature": true}, {"signature": ""}, {"after": ",a.b.c"}]
    others.append({"signature": true[:-1] + chr(ord(true[-1]) + 1)})  # the same octets: 4 bits of the last are spare
    return [json.dumps(one).encode() for one in (*texts, *({**texts[0], **other} for other in others))]


NAME: Final = "authorizer"
ABOUT: Final = "function authorizer, whole"
WORDS: Final = (
    *("alg", "typ", "kid", "crit", "jwk", "jku", "x5c", "RS256", "RS384", "RS512", "PS256", "HS256", "none", "JWT"),
    *("exp", "nbf", "iat", "aud", "sub", KID, RULES.issuer, *sorted(RULES.audiences), "bearer ", "Basic ", "<nil>"),
    *("header", "claims", "signature", "before", "after", "NaN", "Infinity", "1e999", "9" * 400),
)
