"""The MCP Inspector signs in with nothing but the URL, on its command line and in its page.

It is installed from npm, and its page needs a Chromium: `make browser`.
"""

from dataclasses import replace
from typing import Final

import pytest

from stepwire.composition import EXTRAS
from stepwire_local.issuer import SHAPES
from tests.browser.chromium import needs_chromium
from tests.sign_in.conftest import Sites
from tests.sign_in.inspector import Setting, command_line, seen_in_the_page
from tests.sign_in.site import DOCUMENT, GIVEN_ID, SCOPE, Site

pytestmark = pytest.mark.long

WAYS: Final = [
    ("strict", "id"),
    ("strict", "documents"),
    ("strict", "registration"),
    ("auth0", "documents"),
    ("cognito", "id"),
    ("cognito", "documents"),
    ("keycloak", "registration"),
    ("okta", "id"),
]
IN_THE_PAGE: Final = [("strict", "id"), ("strict", "registration"), ("cognito", "documents"), ("okta", "id")]
IDS: Final = {"id": GIVEN_ID, "documents": DOCUMENT, "registration": "registered-"}
CALL: Final = ("--method", "tools/call", "--tool-name")


def asked_once(site: Site, way: str) -> None:
    """Check that the user was asked once, as OAuth 2.1 and RFC 8707 say, by a client that came this way."""
    (asked,), (redeemed,) = site.asked("/authorize"), site.asked("/token")
    assert (asked["code_challenge_method"], asked["resource"], asked["scope"]) == ("S256", site.url, SCOPE)
    assert (redeemed["resource"], bool(redeemed["code_verifier"])) == (site.url, True)
    assert asked["client_id"].startswith(IDS[way])
    assert len(site.asked("/register")) == (way == "registration")


def site_for(sites: Sites, shape: str, way: str) -> Site:
    """Return the site of a shape; Cognito's takes documents only where it was told to."""
    takes_documents = (shape, way) == ("cognito", "documents")
    site = sites(shape, **({"ClientDocuments": "announce"} if takes_documents else {}))
    if takes_documents:
        site.issuer.shape = replace(SHAPES["cognito"], becomes_client_by=frozenset({"documents"}))
    return site


# F1, F2, F3, F4
@pytest.mark.parametrize(("shape", "way"), WAYS)
def test_the_command_line_signs_in_and_calls_a_tool(sites: Sites, shape: str, way: str) -> None:
    site = site_for(sites, shape, way)

    with command_line(site, Setting(way)) as inspector:
        listed = inspector.asks("--method", "tools/list", signs_in=True)
        called = inspector.asks(*CALL, "ping")

    assert "ping" in [tool["name"] for tool in listed["tools"]]
    assert called["structuredContent"] == {"said": "done"}
    asked_once(site, way)


# F1, F2, F3, F4
@needs_chromium
@pytest.mark.parametrize(("shape", "way"), IN_THE_PAGE)
def test_the_page_signs_in_and_calls_a_tool(sites: Sites, shape: str, way: str) -> None:
    """No page of a foreign origin calls the endpoint: the Inspector's own server does, so AllowedOrigins is empty."""
    site = site_for(sites, shape, way)

    seen = seen_in_the_page(site, Setting(way, "auto"), "ping")

    others = (len(EXTRAS["cards"].tools) if "cards" in EXTRAS else 0) + 1  # one lists tasks
    assert seen == {"tools": f"Tools ({1 + others})", "result": {"said": "done"}}
    asked_once(site, way)
