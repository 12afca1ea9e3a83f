"""Sign-in from end to end: `mcp` 2.3 gets a 401, finds the issuer in the metadata, gets a token, and calls a tool.

Everything is on 127.0.0.1: the root template with Authorizer=jwt, an issuer, and a user who consents at once.
"""

import base64
import hashlib
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, parse_qsl, urlsplit

import httpx
import pytest
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from packages.local.tests.issuer import DISCOVERY, TestIssuer
from stepwire_cli.__main__ import in_front
from stepwire_cli.app import run
from stepwire_cli.settings import Settings
from stepwire_cli.use.browser import in_the_browser
from stepwire_client import TaskClient, connect
from stepwire_local.http_server import LoopbackServer, QuietHandler
from tests.integration.stacks import as_deployed
from tests.ports import free_port
from tests.waiting import HANG_GUARD

pytestmark = pytest.mark.anyio
CALLBACK: Final = "http://localhost:8080/callback"
SCOPE: Final = "workflows"
LISTING: Final = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
HEADERS: Final = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}


class Consent(LoopbackServer):
    """The issuer's pages: a user who consents, and the token endpoint (authorization code with PKCE, S256)."""

    def __init__(self, issuer: TestIssuer) -> None:
        self.asked: list[dict[str, str]] = []
        self._issuer = issuer
        super().__init__(_handler_of(self))
        issuer.documents[DISCOVERY]["token_endpoint"] = f"{self.origin}/token"

    async def authorize(self, url: str) -> None:
        """Act as the browser at the authorization URL."""
        self.asked.append(dict(parse_qsl(urlsplit(url).query)))

    async def called_back(self) -> AuthorizationCodeResult:
        """Act as the page to which the browser is redirected."""
        return AuthorizationCodeResult(code="the-code", state=self.asked[-1]["state"])

    def token(self, form: dict[str, list[str]]) -> dict[str, Any]:
        """Return a token for a code and its verifier."""
        asked = self.asked[-1]
        digest = hashlib.sha256(form["code_verifier"][0].encode()).digest()
        assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == asked["code_challenge"]
        assert form["resource"][0] == asked["resource"]
        token = self._issuer.valid(aud=asked["resource"], sub="alice", scope=asked["scope"])
        return {"access_token": token, "token_type": "Bearer", "expires_in": 600, "scope": asked["scope"]}


def _handler_of(consent: Consent) -> type[QuietHandler]:
    class Handler(QuietHandler):
        def do_POST(self) -> None:
            self.reply(200, json.dumps(consent.token(parse_qs(self.body().decode()))).encode())

    return Handler


class Registered:
    """The client's token storage, with a client id that the issuer already knows."""

    def __init__(self) -> None:
        self._tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return OAuthClientInformationFull(
            client_id="a-client", redirect_uris=[AnyUrl(CALLBACK)], token_endpoint_auth_method="none"
        )

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        raise AssertionError("it is registered already")


@pytest.fixture(scope="module")
def issuer() -> Iterator[TestIssuer]:
    with TestIssuer() as issuer:
        yield issuer


@pytest.fixture(scope="module")
def consent(issuer: TestIssuer) -> Iterator[Consent]:
    with Consent(issuer) as consent:
        yield consent


@pytest.fixture(scope="module")
def guarded_url(issuer: TestIssuer) -> Iterator[str]:
    """The endpoint of the root template with sign-in."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    parameters = {
        "Authorizer": "jwt",
        "JwtIssuer": issuer.url,
        "JwtAudience": url,
        "EndpointUrl": url,
        "RequiredScope": SCOPE,
    }
    with as_deployed(port, **parameters) as stack:
        yield stack.url


@pytest.fixture
async def client(guarded_url: str, consent: Consent) -> AsyncIterator[TaskClient]:
    """A client that signs in when it gets a 401."""
    metadata = OAuthClientMetadata(redirect_uris=[AnyUrl(CALLBACK)], token_endpoint_auth_method="none")
    auth = OAuthClientProvider(guarded_url, metadata, Registered(), consent.authorize, consent.called_back)
    async with connect(guarded_url, auth=auth) as client:
        yield client


def post(url: str, token: str | None, message: object = LISTING) -> httpx.Response:
    return httpx.post(
        url, json=message, headers=HEADERS | ({"authorization": f"Bearer {token}"} if token else {}), timeout=HANG_GUARD
    )


def tasks_of(url: str, token: str) -> list[str]:
    listed = post(url, token, {**LISTING, "method": "tasks/list"}).json()["result"]["tasks"]
    return [task["taskId"] for task in listed]


# F1, F2, F4
async def test_a_client_finds_the_issuer_gets_a_token_and_calls_a_tool(
    client: TaskClient, guarded_url: str, issuer: TestIssuer, consent: Consent
) -> None:
    result = await client.call_tool("wait_and_echo", {"message": "hello", "seconds": 1})

    assert result.structured_content == {"message": "hello", "waited_seconds": 1}
    assert DISCOVERY in issuer.asked
    assert consent.asked[-1]["resource"] == guarded_url
    assert consent.asked[-1]["scope"] == SCOPE
    owned = tasks_of(guarded_url, issuer.valid(aud=guarded_url, sub="alice", scope=SCOPE, client_id="another"))
    assert owned, "another client of the same person must see the same tasks"
    assert tasks_of(guarded_url, issuer.valid(aud=guarded_url, sub="bob", scope=SCOPE)) == []


# F1, F2
def test_the_command_finds_the_issuer_and_says_what_it_announces(
    guarded_url: str, issuer: TestIssuer, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(in_front(["sign-in", "check", guarded_url, "--json"]))

    found = json.loads(capsys.readouterr().out)
    assert (code, found["guard"], found["issuer"]["issuer"]) == (0, "asks for a sign-in", issuer.url)
    assert found["resource"]["resource"] == guarded_url
    assert found["issuer"]["key_types"] == ["RSA"]
    assert found["issuer"]["registration_endpoint"] is None, "this issuer registers nobody"


# F2
@pytest.mark.parametrize("suffix", ["", "/mcp", "/mcp?group=waiting", "/mcp/group/waiting"])
def test_the_metadata_need_no_sign_in_and_name_the_endpoint(guarded_url: str, issuer: TestIssuer, suffix: str) -> None:
    response = httpx.get(
        guarded_url.removesuffix("/mcp") + f"/.well-known/oauth-protected-resource{suffix}", timeout=HANG_GUARD
    )

    assert response.json() == {
        "resource": guarded_url,
        "resource_name": "Stepwire",
        "authorization_servers": [issuer.url],
        "scopes_supported": [SCOPE],
        "bearer_methods_supported": ["header"],
    }


Mint = Callable[[TestIssuer, str], str]
BAD: Final[dict[str, Mint]] = {
    "expired": lambda issuer, audience: issuer.expired(aud=audience, scope=SCOPE),
    "for another audience": lambda issuer, _: issuer.for_another_audience(scope=SCOPE),
    "unsigned": lambda issuer, audience: issuer.unsigned(aud=audience, scope=SCOPE),
    "algorithm none": lambda issuer, audience: issuer.of_algorithm_none(aud=audience, scope=SCOPE),
    "signed by another": lambda issuer, audience: issuer.signed_by_another_key(aud=audience, scope=SCOPE),
    "tampered": lambda issuer, audience: issuer.tampered(aud=audience, scope=SCOPE),
    "HS256": lambda issuer, audience: issuer.with_the_public_key_as_secret(aud=audience, scope=SCOPE),
    "another issuer's": lambda issuer, audience: issuer.valid(aud=audience, scope=SCOPE, iss="https://issuer.example"),
    "an ID token": lambda issuer, audience: issuer.valid(aud=audience, scope=SCOPE, token_use="id"),
}


# F4, F5
@pytest.mark.parametrize("mint", BAD.values(), ids=list(BAD))
def test_a_bad_token_is_a_401(guarded_url: str, issuer: TestIssuer, mint: Mint) -> None:
    response = post(guarded_url, mint(issuer, guarded_url))

    assert response.status_code == 401


# F5
def test_no_token_is_a_401(guarded_url: str) -> None:
    assert post(guarded_url, None).status_code == 401


# F6
def test_a_token_without_the_scope_gets_a_403_with_a_challenge(guarded_url: str, issuer: TestIssuer) -> None:
    response = post(guarded_url, issuer.valid(aud=guarded_url, scope="openid"))

    assert response.status_code == 403
    assert f'scope="{SCOPE}"' in response.headers["x-amzn-remapped-www-authenticate"]
    assert response.json()["error"]["data"] == {
        "error": "insufficient_scope",
        "scope": SCOPE,
        "resource_metadata": guarded_url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp"),
    }


@pytest.mark.long
def test_the_pages_of_the_list_have_every_task_once_newest_first(
    guarded_url: str, issuer: TestIssuer, legacy_client_of: Callable[[str], Callable[..., Any]]
) -> None:
    token = issuer.valid(aud=guarded_url, sub="carol", scope=SCOPE)

    seen = legacy_client_of(guarded_url)("list_pages", "51", "--token", token)

    listed = [task_id for page in seen["pages"] for task_id in page]
    assert len(seen["pages"]) > 1
    assert listed == seen["started"][::-1]
    assert "list" in seen["initialized"]["capabilities"]["tasks"]


# F1, F2, F4
async def test_the_command_signs_in_in_the_browser_and_is_signed_in_the_next_time(
    guarded_url: str, consent: Consent, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def browse(address: str) -> bool:
        asked = dict(parse_qsl(urlsplit(address).query))
        consent.asked.append(asked)
        back = urlsplit(asked["redirect_uri"])
        url = f"http://127.0.0.1:{back.port}{back.path}?code=the-code&state={asked['state']}"
        threading.Thread(target=lambda: httpx.get(url, timeout=HANG_GUARD, trust_env=False)).start()
        return True

    monkeypatch.setenv("STEPWIRE_HOME", str(tmp_path))
    monkeypatch.setattr("webbrowser.open", browse)
    settings, before = Settings(guarded_url, client_id="a-client"), len(consent.asked)

    async with connect(guarded_url, auth=in_the_browser(settings, is_interactive=True)) as client:
        result = await client.call_tool("wait_and_echo", {"message": "signed in"})
    async with connect(guarded_url, auth=in_the_browser(settings, is_interactive=False)) as client:
        tools = await client.tools()

    assert result.structured_content == {"message": "signed in", "waited_seconds": 0}
    assert tools
    assert len(consent.asked) == before + 1
