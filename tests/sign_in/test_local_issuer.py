"""The test issuer itself: it grants what OAuth 2.1 allows and refuses the rest, in each shape."""

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import httpx
import jwt
import pytest

from stepwire_local.issuer import SHAPES, Client, LocalIssuer
from stepwire_local.issuer.grants import Grants
from tests.waiting import HANG_GUARD

CALLBACK: Final = "http://localhost:8080/callback"
DOCUMENT: Final = "https://client.example/metadata.json"
VERIFIER: Final = "v" * 43
CHALLENGE: Final = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
ASKED: Final = {
    "response_type": "code",
    "client_id": "public",
    "redirect_uri": CALLBACK,
    "code_challenge": CHALLENGE,
    "code_challenge_method": "S256",
    "state": "the-state",
    "scope": "call",
    "resource": "https://mcp.example/mcp",
}
CLIENTS: Final = {"public": Client((CALLBACK,)), "secret": Client((CALLBACK,), "a secret of the test")}
BASIC: Final = {"authorization": "Basic " + base64.b64encode(b"secret:a secret of the test").decode()}


@pytest.fixture(scope="module")
def issuer() -> Iterator[LocalIssuer]:
    with LocalIssuer(SHAPES["strict"], CLIENTS) as issuer:
        yield issuer


def authorize(issuer: LocalIssuer, **changes: str | None) -> httpx.Response:
    asked = {name: value for name, value in {**ASKED, **changes}.items() if value is not None}
    return httpx.get(f"{issuer.origin}/authorize", params=asked, timeout=HANG_GUARD)


def came(answer: httpx.Response) -> dict[str, str]:
    assert answer.headers["location"].startswith(f"{CALLBACK}?")
    return dict(parse_qsl(urlsplit(answer.headers["location"]).query))


def token(issuer: LocalIssuer, headers: dict[str, str] | None = None, **form: str) -> httpx.Response:
    return httpx.post(f"{issuer.origin}/token", data=form, headers=headers, timeout=HANG_GUARD)


def redeemed(issuer: LocalIssuer, **changes: str) -> httpx.Response:
    form = {
        "grant_type": "authorization_code",
        "client_id": "public",
        "code": changes.get("code") or came(authorize(issuer))["code"],
        "redirect_uri": CALLBACK,
        "code_verifier": VERIFIER,
    }
    return token(issuer, None, **{**form, **changes})


def refreshed(issuer: LocalIssuer, refresh_token: str) -> httpx.Response:
    return token(issuer, grant_type="refresh_token", client_id="public", refresh_token=refresh_token)


@pytest.mark.parametrize(
    "changes",
    [
        {"client_id": "unknown"},
        {"client_id": None},
        {"redirect_uri": f"{CALLBACK}/"},
        {"redirect_uri": "https://evil.example"},
    ],
)
def test_nothing_goes_to_an_unknown_client_or_callback(issuer: LocalIssuer, changes: dict[str, str | None]) -> None:
    answer = authorize(issuer, **changes)

    assert (answer.status_code, "location" in answer.headers) == (400, False)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge": None}, "invalid_request"),
        ({"scope": "none/such"}, "invalid_scope"),
    ],
)
def test_other_errors_go_to_the_client(issuer: LocalIssuer, changes: dict[str, str | None], error: str) -> None:
    assert came(authorize(issuer, **changes)) == {"error": error, "state": "the-state", "iss": issuer.url}


def test_a_code_is_redeemed_once(issuer: LocalIssuer) -> None:
    code = came(authorize(issuer))["code"]

    first, second = (redeemed(issuer, code=code) for _ in range(2))

    assert (first.status_code, second.status_code, second.json()) == (200, 400, {"error": "invalid_grant"})


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"code": "unknown"}, "invalid_grant"),
        ({"code_verifier": "w" * 43}, "invalid_grant"),
        ({"redirect_uri": f"{CALLBACK}/"}, "invalid_grant"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": "client_credentials"}, "unsupported_grant_type"),
    ],
)
def test_a_wrong_request_gets_no_token(issuer: LocalIssuer, changes: dict[str, str], error: str) -> None:
    answer = redeemed(issuer, **changes)

    assert (answer.status_code, answer.json()) == (400, {"error": error})


def test_a_code_is_for_its_client(issuer: LocalIssuer) -> None:
    answer = redeemed(issuer, client_id="secret", client_secret="a secret of the test")

    assert answer.json() == {"error": "invalid_grant"}


def test_refresh_tokens_are_rotated_and_a_second_use_ends_the_sign_in(issuer: LocalIssuer) -> None:
    first = redeemed(issuer).json()["refresh_token"]
    second = refreshed(issuer, first).json()["refresh_token"]

    stolen = refreshed(issuer, first)
    owner = refreshed(issuer, second)

    assert second != first
    assert (stolen.json(), owner.json()) == ({"error": "invalid_grant"}, {"error": "invalid_grant"})


@pytest.mark.parametrize(
    ("headers", "form", "status"),
    [
        (BASIC, {}, 200),
        (None, {"client_id": "secret", "client_secret": "a secret of the test"}, 200),
        (None, {"client_id": "secret", "client_secret": "wrong"}, 401),
        (None, {"client_id": "secret"}, 401),
        (None, {"client_id": "public", "client_secret": "any"}, 401),
        ({"authorization": "Basic !"}, {}, 401),
        (None, {"client_id": "public"}, 400),
    ],
)
def test_machines_need_the_secret(
    issuer: LocalIssuer, headers: dict[str, str] | None, form: dict[str, str], status: int
) -> None:
    answer = token(issuer, headers, grant_type="client_credentials", scope="call", **form)

    assert answer.status_code == status
    assert "refresh_token" not in answer.json()


@pytest.mark.parametrize(
    ("document", "status"),
    [
        ({"client_id": DOCUMENT, "redirect_uris": [CALLBACK]}, 302),
        ({"client_id": DOCUMENT, "redirect_uris": ["https://elsewhere.example/callback"]}, 400),
        ({"client_id": "https://other.example/metadata.json", "redirect_uris": [CALLBACK]}, 400),
        ({"client_id": DOCUMENT}, 400),
        ({"client_id": DOCUMENT, "redirect_uris": CALLBACK}, 400),
        ("not JSON", 400),
        (None, 400),
    ],
)
def test_a_document_makes_a_client_only_if_it_is_whole_and_its_own(
    issuer: LocalIssuer, document: Any, status: int
) -> None:
    issuer.documents = {} if document is None else {DOCUMENT: document}

    assert authorize(issuer, client_id=DOCUMENT).status_code == status


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"redirect_uris": ["http://localhost:1/callback"]}', 201),
        (b'{"redirect_uris": 1}', 400),
        (b"{}", 400),
        (b"[]", 400),
        (b"not JSON", 400),
    ],
)
def test_registration_needs_callbacks(issuer: LocalIssuer, body: bytes, status: int) -> None:
    assert httpx.post(f"{issuer.origin}/register", content=body, timeout=HANG_GUARD).status_code == status


def test_there_is_no_registration_where_it_is_off() -> None:
    with LocalIssuer(SHAPES["okta"], CLIENTS) as issuer:
        answer = httpx.post(f"{issuer.origin}/register", json={"redirect_uris": [CALLBACK]}, timeout=HANG_GUARD)

    assert (answer.status_code, "registration_endpoint" in issuer.metadata()) == (404, False)


@pytest.mark.parametrize("name", SHAPES)
def test_the_metadata_are_where_clients_and_api_gateway_look(name: str) -> None:
    with LocalIssuer(SHAPES[name]) as issuer:
        path = SHAPES[name].path.rstrip("/")
        places = {
            "openid-configuration": f"{issuer.origin}{path}/.well-known/openid-configuration",
            "oauth-authorization-server": f"{issuer.origin}/.well-known/oauth-authorization-server{path}",
        }
        found = {kind: httpx.get(url, timeout=HANG_GUARD) for kind, url in places.items()}
        keys = httpx.get(issuer.metadata()["jwks_uri"], timeout=HANG_GUARD).json()["keys"]

    assert {kind for kind, answer in found.items() if answer.status_code == 200} == set(SHAPES[name].metadata)
    assert all(answer.json()["issuer"] == issuer.url for answer in found.values() if answer.status_code == 200)
    assert [key["kty"] for key in keys] == [SHAPES[name].key]
    assert not {"d", "p", "q"} & set(keys[0]), "only the public half"


@pytest.mark.parametrize(
    ("name", "asked", "expected"),
    [
        ("strict", {}, {"aud": ASKED["resource"], "scope": "call"}),
        ("auth0", {}, {"aud": [ASKED["resource"], "https://auth0.example/userinfo"], "scope": "call"}),
        ("keycloak", {}, {"aud": ["api://stepwire", "account"], "scope": "call"}),
        ("okta", {}, {"aud": "api://stepwire", "scp": ["call"]}),
        ("entra", {"scope": f"{ASKED['resource']}/call"}, {"aud": SHAPES["entra"].audience[0], "scp": "call"}),
        ("entra", {"resource": None, "scope": "api://stepwire/call"}, {"scp": "call", "scope": None}),
        ("cognito", {}, {"aud": ASKED["resource"], "scope": "call"}),
        ("cognito", {"resource": None}, {"aud": None, "client_id": "public"}),
    ],
)
def test_the_claims_of_a_token_are_of_the_shape(
    name: str, asked: dict[str, str | None], expected: dict[str, Any]
) -> None:
    request = {key: value for key, value in {**ASKED, **asked}.items() if value is not None}
    claims: list[Mapping[str, Any]] = []

    def sign(given: Mapping[str, Any], _kind: str) -> str:
        claims.append(given)
        return "a token"

    grants = Grants(SHAPES[name], "https://issuer.example", sign, lambda: 1_000.0)
    code = grants.code(request, "alice")
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK, "code_verifier": VERIFIER}
    grants.tokens(form, "public", CLIENTS["public"])

    (made,) = claims
    assert {claim: made.get(claim) for claim in expected} == expected
    assert (made["iss"], made["sub"], made["exp"]) == ("https://issuer.example", "alice", 1_600)


def test_of_several_people_its_page_asks_who_it_is_and_the_token_has_their_groups() -> None:
    with LocalIssuer(SHAPES["strict"], CLIENTS, people={"alice": (), "ann": ("finance", "audit")}) as issuer:
        page = authorize(issuer)
        chosen = [unescape(one) for one in re.findall(r'href="([^"]+)"', page.text)]
        codes = [came(httpx.get(issuer.origin + path, timeout=HANG_GUARD))["code"] for path in chosen]
        claims = [
            jwt.decode(redeemed(issuer, code=code).json()["access_token"], options={"verify_signature": False})
            for code in codes
        ]
        unknown = authorize(issuer, login_hint="mallory")

    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert [one["sub"] for one in claims] == ["alice", "ann"]
    assert "groups" not in claims[0]
    assert claims[1]["groups"] == claims[1]["cognito:groups"] == ["finance", "audit"]
    assert "Who are you?" in unknown.text


def test_what_a_client_sends_is_text_on_its_page() -> None:
    with LocalIssuer(SHAPES["strict"], CLIENTS, people={"alice": ()}) as issuer:
        page = authorize(issuer, state='"><script>alert(1)</script>').text

    assert "<script>" not in page
