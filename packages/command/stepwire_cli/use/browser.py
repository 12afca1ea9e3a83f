"""OAuth in the browser, by the library's provider: a callback on the loopback, and a file of mode 600 for tokens."""

import asyncio
import hashlib
import json
import os
import sys
import time
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.oauth2 import OAuthContext
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel

from stepwire_cli.settings import Settings, home
from stepwire_client import SignInNeeded

Json = Mapping[str, Any]
_PUBLIC: Final = "none"  # this client has no secret
_SECONDS: Final = 300  # for the person to sign in
_HEAD: Final = "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
_DONE: Final = f"{_HEAD.format(status='200 OK')}Signed in. You may close this page.\n"
_REFUSED: Final = f"{_HEAD.format(status='200 OK')}The sign-in failed. The terminal says why.\n"
_STRANGE: Final = f"{_HEAD.format(status='404 Not Found')}No sign-in of stepwire waits for this page.\n"


class TokenFile:
    """The sign-in of one server, in a file that its owner alone can read: a client, its tokens, and who issued them.

    The rule: tokens are renewed by their own client at the token endpoint that issued them, or not at all.
    """

    def __init__(self, url: str, client_id: str | None, callback: "Callback") -> None:
        self._path = home() / "tokens" / f"{hashlib.sha256(url.encode()).hexdigest()[:32]}.json"
        self._url = url
        self._client_id = client_id
        self._callback = callback
        self._context: OAuthContext | None = None

    def attach(self, context: OAuthContext) -> None:
        """Give a context what it needs to renew the tokens, and keep what it knows beside those that it gets.

        The library keeps neither the issuer's metadata nor when tokens expire.
        """
        self._context = context
        kept = self._read()
        if issuer := kept.get("issuer"):
            context.oauth_metadata = OAuthMetadata.model_validate(issuer)
        if resource := kept.get("resource"):
            context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(resource)
        context.token_expiry_time = kept.get("expires_at")

    def is_issued_at(self, issuer: OAuthMetadata | None) -> bool:
        """Tell whether an issuer's token endpoint issued the tokens; None: the one that the library falls back to."""
        kept = self._read()
        return "issuer" in kept and _place_of(kept["issuer"]) == _place_of(_json(issuer))

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens, expired ones too, so that they are renewed; None if they are another client's."""
        kept = self._read()
        client: Any = kept.get("client")
        is_of_another = self._client_id is not None and (client is None or client["client_id"] != self._client_id)
        return None if is_of_another or "tokens" not in kept else OAuthToken.model_validate(kept["tokens"])

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep tokens, when they expire, whose they are, and who issued them."""
        known: Json = {} if self._context is None else _known_to(self._context)
        expires = None if tokens.expires_in is None else time.time() + tokens.expires_in
        self._write({**known, "tokens": _json(tokens), "expires_at": expires})

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the client that was given, else the one that the tokens belong to, or that was registered for them."""
        if self._client_id is not None:
            return OAuthClientInformationFull(
                client_id=self._client_id,
                redirect_uris=[AnyUrl(self._callback.url)],
                token_endpoint_auth_method=_PUBLIC,
            )
        kept = self._read().get("client")
        return None if kept is None else OAuthClientInformationFull.model_validate(kept)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep a registration. Tokens of an earlier client are not its own, so they are dropped."""
        self._write({"client": _json(client_info)})

    @property
    def port(self) -> int:
        """The port of the client's callback; 0 for none."""
        return self._read().get("port", 0)

    def _read(self) -> dict[str, Any]:
        try:
            return json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}

    def _write(self, sign_in: Json) -> None:
        folder = self._path.parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)  # one that was there may be open to others
        new = self._path.with_suffix(f".{os.getpid()}")
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump({"url": self._url, "port": self._callback.port, **sign_in}, file)
        Path(new).replace(self._path)


class SignIn(OAuthContext):
    """What the library's provider knows of a sign-in.

    Without an issuer's metadata it would send a refresh token to the server's own `/token`, and after the server has
    named another issuer, to that one.
    """

    def can_refresh_token(self) -> bool:
        """Tell whether the tokens can be renewed where they were issued."""
        is_known = isinstance(self.storage, TokenFile) and self.storage.is_issued_at(self.oauth_metadata)
        return is_known and super().can_refresh_token()


def _known_to(context: OAuthContext) -> Json:
    """Return what is kept beside tokens that a context has got. The client is bound to their issuer."""
    client, issuer = context.client_info, context.oauth_metadata
    if client is not None and client.issuer is None and issuer is not None:
        client = client.model_copy(update={"issuer": str(issuer.issuer)})
    resource = context.protected_resource_metadata
    return {"client": _json(client), "issuer": _json(issuer), "resource": _json(resource)}


def _json(model: BaseModel | None) -> Any:
    return None if model is None else model.model_dump(mode="json")


def _place_of(issuer: Any) -> Any:
    return issuer and (issuer["issuer"], issuer["token_endpoint"])


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
    provider.context = SignIn(**vars(provider.context))
    storage.attach(provider.context)
    return provider


def _query_of(address: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


def _free_port() -> int:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
