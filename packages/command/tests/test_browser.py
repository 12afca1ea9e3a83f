"""A sign-in in the browser that is kept: a later process renews it where it was issued, and sends it nowhere else."""

import json
import threading
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from stepwire_cli.settings import Settings
from stepwire_cli.use.browser import in_the_browser
from stepwire_client import SignInNeeded

MCP = "https://mcp.example/mcp"
PRM = "https://mcp.example/.well-known/oauth-protected-resource/mcp"
pytestmark = pytest.mark.anyio


class Internet:
    """An endpoint that names one of two issuers, a person who consents in the browser, and all that was sent."""

    def __init__(self) -> None:
        self.issuer = "https://first.example"
        self.lives = -1  # seconds: tokens of a consent are over at once; renewed ones are not
        self.takes_refresh_tokens = True
        self.accepted: set[str] = set()
        self.forms: list[tuple[str, dict[str, str]]] = []
        self.consents = 0

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request, whichever host it is for."""
        url, body = str(request.url), request.content.decode()
        if url == MCP:
            token = request.headers.get("authorization", "").removeprefix("Bearer ")
            named = {"www-authenticate": f'Bearer resource_metadata="{PRM}"'}
            return httpx2.Response(200) if token in self.accepted else httpx2.Response(401, headers=named)
        if url == PRM:
            return httpx2.Response(200, json={"resource": MCP, "authorization_servers": [self.issuer]})
        origin = f"https://{request.url.host}"
        if request.method == "GET":
            pages = {f"{name}_endpoint": f"{origin}/as/{name}" for name in ("authorization", "token", "registration")}
            return httpx2.Response(200, json={"issuer": origin, "code_challenge_methods_supported": ["S256"], **pages})
        if url.endswith("/registration"):
            return httpx2.Response(201, json={**json.loads(body), "client_id": f"registered at {origin}"})
        return self._token(url, {name: values[0] for name, values in parse_qs(body).items()})

    def _token(self, url: str, form: dict[str, str]) -> httpx2.Response:
        self.forms.append((url, form))
        is_issuers_own = urlsplit(url).path == "/as/token"
        if not is_issuers_own or (form["grant_type"] == "refresh_token" and not self.takes_refresh_tokens):
            return httpx2.Response(400, json={"error": "invalid_grant"})
        token = f"token {len(self.forms)}"
        self.accepted = {token}
        lives = 600 if "refresh_token" in form else self.lives
        tokens = {"access_token": token, "token_type": "Bearer", "expires_in": lives}
        return httpx2.Response(200, json={**tokens, "refresh_token": f"secret of {urlsplit(url).hostname}"})

    def open(self, address: str) -> bool:
        """Consent as a person in the browser."""
        self.consents += 1
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        back = f"{asked['redirect_uri'].replace('localhost', '127.0.0.1')}?code=c&state={asked['state']}"
        threading.Thread(target=lambda: httpx2.get(back, trust_env=False)).start()
        return True

    def client(self, client_id: str | None = None, *, is_interactive: bool = True) -> httpx2.AsyncClient:
        """Return what signs in for a new process of the command."""
        provider = in_the_browser(Settings(MCP, client_id=client_id), is_interactive=is_interactive)
        return httpx2.AsyncClient(
            transport=httpx2.MockTransport(self.answer), auth=provider, headers={"mcp-protocol-version": "2025-11-25"}
        )

    async def process(self, client_id: str | None = None, *, is_interactive: bool = True) -> None:
        """Call the endpoint once, in a new process of the command."""
        async with self.client(client_id, is_interactive=is_interactive) as client:
            assert (await client.post(MCP)).status_code == 200

    @property
    def renewals(self) -> list[tuple[str, str, str]]:
        """Where refresh tokens were sent, which, and by which client."""
        return [(url, form["refresh_token"], form["client_id"]) for url, form in self.forms if "refresh_token" in form]


@pytest.fixture
def internet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Internet:
    """No file is kept yet, and the browser is that person's."""
    monkeypatch.setenv("STEPWIRE_HOME", str(tmp_path))
    there = Internet()
    monkeypatch.setattr("webbrowser.open", there.open)
    return there


@pytest.mark.parametrize(
    ("given_first", "given_later", "client"),
    [
        (None, None, "registered at https://first.example"),
        ("local", "local", "local"),
        ("local", None, "local"),
    ],
    ids=["a registered client", "a given client", "a given client, which is not given again"],
)
async def test_a_later_process_renews_at_the_issuer_of_the_tokens_as_their_client(
    given_first: str | None,
    given_later: str | None,
    client: str,
    internet: Internet,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await internet.process(given_first)
    later = time.time() + 700

    await internet.process(given_later, is_interactive=False)
    monkeypatch.setattr("time.time", lambda: later)
    await internet.process(given_later, is_interactive=False)

    assert internet.renewals == [("https://first.example/as/token", "secret of first.example", client)] * 2
    assert {form["resource"] for _, form in internet.forms} == {MCP}
    assert internet.consents == 1


async def test_a_process_renews_tokens_that_expire_while_it_runs(
    internet: Internet, monkeypatch: pytest.MonkeyPatch
) -> None:
    internet.lives = 600
    await internet.process()
    later = time.time() + 700

    async with internet.client(is_interactive=False) as client:
        assert (await client.post(MCP)).status_code == 200
        monkeypatch.setattr("time.time", lambda: later)
        assert (await client.post(MCP)).status_code == 200

    assert len(internet.renewals) == 1
    assert internet.consents == 1


async def test_after_the_endpoint_has_named_another_issuer_the_same_process_sends_it_no_refresh_token(
    internet: Internet, monkeypatch: pytest.MonkeyPatch
) -> None:
    internet.lives = 600
    await internet.process("local")
    internet.issuer, internet.accepted = "https://second.example", set()
    later = time.time() + 700

    async with internet.client("local", is_interactive=False) as client:
        with pytest.raises(SignInNeeded):
            await client.post(MCP)
        monkeypatch.setattr("time.time", lambda: later)
        with pytest.raises(SignInNeeded):
            await client.post(MCP)

    assert internet.renewals == []


async def test_tokens_of_a_registered_client_are_not_those_of_a_client_that_is_given(internet: Internet) -> None:
    await internet.process()

    await internet.process("local")

    assert internet.renewals == []
    assert internet.consents == 2


@pytest.mark.parametrize("client_id", [None, "local"])
async def test_a_refresh_token_is_not_sent_to_an_issuer_that_the_endpoint_names_later(
    client_id: str | None, internet: Internet
) -> None:
    await internet.process(client_id)
    internet.issuer, internet.takes_refresh_tokens, internet.accepted = "https://second.example", False, set()

    await internet.process(client_id)
    internet.takes_refresh_tokens = True
    await internet.process(client_id, is_interactive=False)

    assert [(url, token) for url, token, _ in internet.renewals] == [
        ("https://first.example/as/token", "secret of first.example"),
        ("https://second.example/as/token", "secret of second.example"),
    ]
    assert internet.consents == 2


async def test_a_refresh_token_whose_issuer_was_not_kept_is_sent_nowhere(internet: Internet, tmp_path: Path) -> None:
    await internet.process()
    (file,) = (tmp_path / "tokens").iterdir()
    kept = json.loads(file.read_text())
    file.write_text(json.dumps({name: kept[name] for name in ("url", "client", "port", "tokens", "expires_at")}))

    with pytest.raises(SignInNeeded):
        await internet.process(is_interactive=False)
    await internet.process()

    assert internet.renewals == []
    assert internet.consents == 2
