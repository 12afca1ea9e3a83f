"""OAuth in the browser, by the library's provider: a callback on the loopback, and a file of mode 600 for tokens."""

import asyncio
import hashlib
import json
import os
import sys
import time
import webbrowser
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from stepwire_cli.settings import Settings, home
from stepwire_client import SignInNeeded

_PUBLIC: Final = "none"  # this client has no secret
_SECONDS: Final = 300  # for the person to sign in
_HEAD: Final = "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
_DONE: Final = f"{_HEAD.format(status='200 OK')}Signed in. You may close this page.\n"
_REFUSED: Final = f"{_HEAD.format(status='200 OK')}The sign-in failed. The terminal says why.\n"
_STRANGE: Final = f"{_HEAD.format(status='404 Not Found')}No sign-in of stepwire waits for this page.\n"


class TokenFile:
    """The tokens and the registration of one server, in a file that its owner alone can read."""

    def __init__(self, url: str, client_id: str | None, callback: "Callback") -> None:
        self._path = home() / "tokens" / f"{hashlib.sha256(url.encode()).hexdigest()[:32]}.json"
        self._url = url
        self._client_id = client_id
        self._callback = callback

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens. An access token that has expired is returned as such, so that it is refreshed."""
        kept = self._read().get("tokens")
        return None if kept is None else OAuthToken.model_validate(kept)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep tokens, and when they expire."""
        lives = tokens.expires_in
        expires = None if lives is None else time.time() + lives
        self._write({"tokens": tokens.model_dump(mode="json"), "expires_at": expires})

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the registration, if it has the callback's address of now."""
        redirects = [AnyUrl(self._callback.url)]
        if self._client_id is not None:
            return OAuthClientInformationFull(
                client_id=self._client_id, redirect_uris=redirects, token_endpoint_auth_method=_PUBLIC
            )
        kept = self._read().get("client")
        return None if kept is None else OAuthClientInformationFull.model_validate(kept)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep a registration."""
        self._write({"client": client_info.model_dump(mode="json"), "port": self._callback.port})

    @property
    def port(self) -> int:
        """The port of the registered callback; 0 for none."""
        return self._read().get("port", 0)

    @property
    def has_expired(self) -> bool:
        """Tell whether the access token is over."""
        expires = self._read().get("expires_at")
        return expires is not None and time.time() >= expires

    def _read(self) -> dict[str, Any]:
        try:
            return json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}

    def _write(self, changes: dict[str, Any]) -> None:
        folder = self._path.parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)  # one that was there may be open to others
        new = self._path.with_suffix(f".{os.getpid()}")
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump({"url": self._url, **self._read(), **changes}, file)
        Path(new).replace(self._path)


class Callback:
    """The page on the loopback to which the issuer sends the browser back."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._state: str | None = None
        self._server: asyncio.Server | None = None
        self._answer: asyncio.Future[AuthorizationCodeResult] | None = None

    @property
    def url(self) -> str:
        """Its address, as the issuer knows it."""
        return f"http://localhost:{self.port}/callback"

    async def listen(self, state: str | None) -> None:
        """Begin to listen for the answer to the request of this `state`. Any page can send the browser here."""
        self._state = state
        self._answer = asyncio.get_running_loop().create_future()
        try:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        except OSError:
            raise SignInNeeded(f"Port {self.port} of 127.0.0.1 is taken. Choose another: --callback-port.") from None

    async def result(self) -> AuthorizationCodeResult:
        """Wait for the browser.

        Raises:
            SignInNeeded: it did not come, or brought an error.
        """
        if self._server is None or self._answer is None:
            raise SignInNeeded("The sign-in was not begun.")
        try:
            async with asyncio.timeout(_SECONDS):
                return await self._answer
        except TimeoutError:
            raise SignInNeeded(f"Nobody signed in within {_SECONDS} s.") from None
        finally:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await reader.readline()
        target = line.decode("latin-1").split(" ")[1] if line.count(b" ") > 1 else ""
        writer.write(self._taken(target).encode())
        await writer.drain()
        writer.close()

    def _taken(self, target: str) -> str:
        """Take the answer of the issuer, and return the page for the person."""
        query = _query_of(target)
        is_asked = self._answer is not None and not self._answer.done() and query.get("state") == self._state
        if self._answer is None or not is_asked or not target.startswith("/callback"):
            return _STRANGE
        if "code" in query:
            self._answer.set_result(
                AuthorizationCodeResult(code=query["code"], state=query.get("state"), iss=query.get("iss"))
            )
            return _DONE
        self._answer.set_exception(SignInNeeded(f"The issuer refused: {query.get('error', 'no code')}."))
        return _REFUSED


def in_the_browser(settings: Settings, *, is_interactive: bool) -> OAuthClientProvider:
    """Return the library's provider, which signs in when the server asks for it."""
    url = settings.endpoint()
    callback = Callback(settings.callback_port)
    storage = TokenFile(url, settings.client_id, callback)
    callback.port = settings.callback_port or storage.port or _free_port()

    async def open_browser(address: str) -> None:
        if not is_interactive:
            raise SignInNeeded("The server wants a sign-in, and there is no terminal.")
        await callback.listen(_query_of(address).get("state"))
        sys.stderr.write(f"Sign in in the browser. If it does not open:\n  {address}\n")
        webbrowser.open(address)

    metadata = OAuthClientMetadata(
        client_name="stepwire", redirect_uris=[AnyUrl(callback.url)], token_endpoint_auth_method=_PUBLIC
    )
    provider = OAuthClientProvider(url, metadata, storage, open_browser, callback.result)
    if storage.has_expired:
        provider.context.token_expiry_time = 1.0  # long ago: the library does not keep when tokens expire
    return provider


def _query_of(address: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


def _free_port() -> int:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
