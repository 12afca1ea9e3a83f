"""How requests are signed: in the browser through the library's provider, and with AWS signatures by botocore."""

import asyncio
import datetime as dt
from pathlib import Path
from typing import Any

import httpx2
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from stepwire_cli.exits import CommandError, Exit
from stepwire_cli.settings import Auth, Settings
from stepwire_cli.use import browser
from stepwire_cli.use.browser import Callback, in_the_browser
from stepwire_cli.use.signing import Bearer, SigV4, auth_of, region_in
from stepwire_client import SignInNeeded

URL = "https://abc123.execute-api.eu-central-1.amazonaws.com/mcp"
pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def own_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the person's files and AWS settings out of it."""
    monkeypatch.setenv("STEPWIRE_HOME", str(tmp_path))
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")


def signed(auth: httpx2.Auth, url: str = URL) -> httpx2.Request:
    """Sign a request."""
    request = httpx2.Request("POST", url, json={"jsonrpc": "2.0"})
    return next(auth.sync_auth_flow(request))


def test_the_signature_is_the_one_of_botocore(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = dt.datetime(2026, 11, 22, 9, 0, tzinfo=dt.UTC)

    def now(remove_tzinfo: bool = True) -> dt.datetime:
        return moment.replace(tzinfo=None) if remove_tzinfo else moment

    monkeypatch.setattr("botocore.auth.get_current_datetime", now)

    request = signed(SigV4(None, None, URL))

    expected = AWSRequest(
        "POST",
        URL,
        {"host": "abc123.execute-api.eu-central-1.amazonaws.com", "content-type": "application/json"},
        b'{"jsonrpc":"2.0"}',
    )
    SigV4Auth(Credentials("AKIDEXAMPLE", "secret"), "execute-api", "eu-central-1").add_auth(expected)
    assert request.headers["authorization"] == expected.headers["Authorization"]
    assert "20261122/eu-central-1/execute-api" in request.headers["authorization"]
    assert request.headers["x-amz-date"] == "20261122T090000Z"


def test_temporary_credentials_send_their_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "a-token")

    assert signed(SigV4(None, None, URL)).headers["x-amz-security-token"] == "a-token"


@pytest.mark.parametrize(
    ("url", "region"),
    [(URL, "eu-central-1"), ("https://mcp.example/mcp", None), ("http://127.0.0.1:3000/mcp", None)],
)
def test_the_region_is_read_from_the_endpoint(url: str, region: str | None) -> None:
    assert region_in(url) == region


def test_without_a_region_or_credentials_or_a_profile_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CommandError, match="--region") as no_region:
        SigV4(None, None, "https://mcp.example/mcp")
    with pytest.raises(CommandError, match="list-profiles") as no_profile:
        SigV4("nobody", "eu-central-1", URL)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(CommandError, match="aws sso login") as no_credentials:
        SigV4(None, "eu-central-1", URL)

    assert no_region.value.code == Exit.USAGE
    assert {no_profile.value.code, no_credentials.value.code} == {Exit.SIGN_IN}


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        (Settings(URL, token="t"), Bearer),
        (Settings(URL, auth=Auth.SIGV4), SigV4),
        (Settings(URL, auth=Auth.NONE), type(None)),
        (Settings(URL), object),
    ],
    ids=["a token", "AWS", "none", "the browser if asked to"],
)
def test_the_options_choose_what_signs(settings: Settings, kind: type) -> None:
    assert isinstance(auth_of(settings, is_interactive=False), kind)


async def test_the_callback_takes_the_code_that_the_browser_brings() -> None:
    callback = Callback(0)
    callback.port = browser._free_port()  # pyright: ignore[reportPrivateUsage] - a port that nothing else has
    await callback.listen("s")

    async with httpx2.AsyncClient(trust_env=False) as person:
        page = await person.get(f"http://127.0.0.1:{callback.port}/callback?code=c&state=s")
    result = await callback.result()

    assert (result.code, result.state) == ("c", "s")
    assert "Signed in" in page.text


async def test_a_refusal_of_the_issuer_ends_the_sign_in() -> None:
    callback = Callback(browser._free_port())  # pyright: ignore[reportPrivateUsage] - a port that nothing else has
    await callback.listen("s")

    async with httpx2.AsyncClient(trust_env=False) as person:
        page = await person.get(f"http://127.0.0.1:{callback.port}/callback?error=access_denied&state=s")
    assert "failed" in page.text
    with pytest.raises(SignInNeeded, match="access_denied"):
        await callback.result()


@pytest.mark.parametrize("query", ["error=access_denied", "error=x&state=t", "code=c&state=t", "code=c"])
async def test_any_other_page_neither_ends_a_sign_in_nor_completes_it(query: str) -> None:
    callback = Callback(browser._free_port())  # pyright: ignore[reportPrivateUsage] - a port that nothing else has
    await callback.listen("s")

    async with httpx2.AsyncClient(trust_env=False) as browsing:
        strange = await browsing.get(f"http://127.0.0.1:{callback.port}/callback?{query}")
        await browsing.get(f"http://127.0.0.1:{callback.port}/callback?code=right&state=s")

    assert strange.status_code == 404
    assert (await callback.result()).code == "right"


async def test_without_a_terminal_nobody_is_asked_to_sign_in() -> None:
    provider = in_the_browser(Settings(URL), is_interactive=False)

    assert provider.context.redirect_handler is not None
    with pytest.raises(SignInNeeded, match="no terminal"):
        await provider.context.redirect_handler("https://issuer.example/authorize")


async def test_a_port_that_is_taken_is_told() -> None:
    async def nothing(_reader: Any, _writer: Any) -> None: ...

    server = await asyncio.start_server(nothing, "127.0.0.1", 0)
    async with server:
        with pytest.raises(SignInNeeded, match="--callback-port"):
            await Callback(server.sockets[0].getsockname()[1]).listen("s")
