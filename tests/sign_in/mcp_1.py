"""Print what `mcp` 1.30 sees when it signs in with nothing but the URL.

It runs in a separate environment, without our code but `browsing`, which is beside it.

.venv-legacy/bin/python tests/sign_in/mcp_1.py URL < plan.json

The plan is that of mcp_2.py.
"""
# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportMissingImports=false, reportPrivateImportUsage=false

import json
import logging
import sys
from typing import Any

import anyio
from browsing import Browser, Clock, innermost
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider, oauth2
from mcp.client.streamable_http import streamable_http_client
from mcp.shared import auth_utils
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

logging.disable()


class Returning(Browser):
    """A browser that hands the callback to the library."""

    async def came_back(self) -> tuple[str, str | None]:
        """Return what the callback got."""
        got = self.callback()
        return got["code"], got["state"]


class Storage:
    """The tokens and the client that the library has stored."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.tokens = OAuthToken.model_validate(plan["tokens"]) if plan.get("tokens") else None
        known = {
            "client_id": plan["client_id"],
            "redirect_uris": [plan["callback"]],
            "token_endpoint_auth_method": "none",
        }
        self.client = OAuthClientInformationFull.model_validate(known) if plan["way"] == "id" else None

    async def get_tokens(self) -> Any:
        """Return the tokens."""
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        """Store tokens."""
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        """Return the client."""
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        """Store a client."""
        self.client = client_info


async def seen_of(url: str, plan: dict[str, Any]) -> dict[str, Any]:
    """Sign in, list the tools and make the calls; return what was seen, or the innermost error."""
    storage, browser, clock = Storage(plan), Returning(), Clock()
    oauth2.time = auth_utils.time = clock
    metadata = {"redirect_uris": [plan["callback"]], "token_endpoint_auth_method": "none"}
    auth = OAuthClientProvider(
        url,
        OAuthClientMetadata.model_validate(metadata),
        storage,
        browser.open,
        browser.came_back,
        client_metadata_url=plan["document"] if plan["way"] == "documents" else None,
    )
    seen: dict[str, Any] = {"results": []}
    try:
        async with (
            create_mcp_http_client(auth=auth) as http,
            streamable_http_client(url, http_client=http) as (read, write, _),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            seen["tools"] = sorted(tool.name for tool in (await session.list_tools()).tools)
            for name in plan["calls"]:
                clock.passed += 3600 if plan.get("hours") else 0
                seen["results"].append((await session.call_tool(name, {})).structuredContent)
    except Exception as error:  # noqa: BLE001  # what the library raises is what the test is about
        seen["error"] = innermost(error)
    return seen | {"client_id": storage.client.client_id if storage.client else None}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(anyio.run(seen_of, sys.argv[1], json.load(sys.stdin))))
