"""Return what `mcp` 2.3 sees when it signs in with nothing but the URL, in either era.

A plan: `way` (`id`, `documents`, `registration`), `callback`, `client_id`, `document`, `mode` (the era), `calls` (names
of tools), and optionally `tokens`, which the client has from an earlier run, and `hours`: one passes before each call.
"""

from typing import Any, Literal

import pytest
from mcp.client import Client
from mcp.client.auth import OAuthClientProvider, oauth2
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared import auth_utils
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from tests.sign_in.browsing import Browser, Clock, innermost

Json = dict[str, Any]
Method = Literal["client_secret_basic", "client_secret_post"]


class Returning(Browser):
    """A browser that hands the callback to the library."""

    async def came_back(self) -> AuthorizationCodeResult:
        """Return what the callback got."""
        got = self.callback()
        return AuthorizationCodeResult(code=got["code"], state=got.get("state"), iss=got.get("iss"))


class Storage:
    """The tokens and the client that the library has stored."""

    def __init__(self, plan: Json) -> None:
        self.tokens = OAuthToken.model_validate(plan["tokens"]) if plan.get("tokens") else None
        self.client = (
            OAuthClientInformationFull(
                client_id=plan["client_id"], redirect_uris=[AnyUrl(plan["callback"])], token_endpoint_auth_method="none"
            )
            if plan["way"] == "id"
            else None
        )

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens."""
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store tokens."""
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the client."""
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Store a client."""
        self.client = client_info


async def seen_by_a_machine(url: str, client_id: str, secret: str, method: Method, issuer: str) -> Json | None:
    """Call `ping` with the credentials of a client; return the result."""
    storage = Storage({"way": "secret"})
    auth = ClientCredentialsOAuthProvider(url, storage, client_id, secret, method, issuer=issuer)
    async with (
        create_mcp_http_client(auth=auth) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        return (await client.call_tool("ping", {})).structured_content


async def seen_by_mcp_2(url: str, plan: Json) -> Json:
    """Sign in, list the tools and make the calls; return what was seen, or the innermost error."""
    storage, browser, clock = Storage(plan), Returning(), Clock()
    auth = OAuthClientProvider(
        url,
        OAuthClientMetadata(redirect_uris=[AnyUrl(plan["callback"])], token_endpoint_auth_method="none"),
        storage,
        browser.open,
        browser.came_back,
        client_metadata_url=plan["document"] if plan["way"] == "documents" else None,
    )
    seen: Json = {"results": []}
    patched = pytest.MonkeyPatch()
    patched.setattr(oauth2, "time", clock)
    patched.setattr(auth_utils, "time", clock)
    try:
        async with (
            create_mcp_http_client(auth=auth) as http,
            Client(streamable_http_client(url, http_client=http), mode=plan.get("mode", "auto")) as client,
        ):
            seen["tools"] = sorted(tool.name for tool in (await client.list_tools()).tools)
            for name in plan["calls"]:
                clock.passed += 3600 if plan.get("hours") else 0
                seen["results"].append((await client.call_tool(name, {})).structured_content)
    except Exception as error:  # noqa: BLE001  # what the library raises is what the test is about
        seen["error"] = innermost(error)
    finally:
        patched.undo()
    return seen | {"client_id": storage.client.client_id if storage.client else None}
