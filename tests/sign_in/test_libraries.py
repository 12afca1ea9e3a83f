"""Released libraries sign in with nothing but the URL, at issuers of each shape, strict and lax.

In each run the library finds the metadata, becomes a client, uses PKCE and `resource`, and calls a tool.
"""

from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
import httpx
import pytest

from stepwire_local.issuer import SHAPES, Lifetime
from tests.sign_in.conftest import LIBRARIES, Seen, Sites, among, plan
from tests.sign_in.mcp_2 import seen_by_a_machine
from tests.sign_in.site import DOCUMENT, GIVEN_ID, SCOPE, SECRET, WITH_SECRET, Site
from tests.waiting import HANG_GUARD

WORKS: Final = ["strict", "auth0", "cognito", "lax", "entra", "keycloak", "okta", "workos"]
# Each shape needs a stack of its own; these two are unlike each other in most ways.
WAYS: Final = [
    pytest.param(name, way, marks=() if name in ("strict", "cognito") else pytest.mark.long)
    for name in WORKS
    for way in ("id", *sorted(SHAPES[name].becomes_client_by))
]
DONE: Final = [{"said": "done"}]
CLIENTS: Final = {"id": GIVEN_ID, "documents": DOCUMENT, "registration": "registered-"}


# F1, F2, F3, F4
@among(*LIBRARIES)
@pytest.mark.parametrize(("shape", "way"), WAYS)
def test_a_library_signs_in_with_nothing_but_the_url(
    sites: Sites, seen_by: Seen, library: str, shape: str, way: str
) -> None:
    site = sites(shape)

    seen = seen_by(library, site, plan(way))

    assert seen.get("error") is None
    assert ("ping" in seen["tools"], seen["results"]) == (True, DONE)
    assert seen["client_id"].startswith(CLIENTS[way])
    (asked,), (redeemed,) = site.asked("/authorize"), site.asked("/token")
    scope = f"{site.url}/{SCOPE}" if shape == "entra" else SCOPE
    assert (asked["code_challenge_method"], asked["resource"], asked["scope"]) == ("S256", site.url, scope)
    assert (redeemed["resource"], bool(redeemed["code_verifier"])) == (site.url, True)
    assert len(site.asked("/register")) == (way == "registration")


@among(*LIBRARIES)
@pytest.mark.parametrize(
    ("shape", "parameters", "error"),
    [
        # Entra ID: an Application ID URI that is not the endpoint's URL, as with API Gateway's own domain.
        pytest.param("entra", {"OfferedScopes": "api://stepwire/call"}, "invalid_target", marks=pytest.mark.long),
        pytest.param("elliptic", {}, "", marks=pytest.mark.long),
    ],
)
def test_two_settings_cannot_work(
    sites: Sites, seen_by: Seen, library: str, shape: str, parameters: dict[str, str], error: str
) -> None:
    """These libraries always send the endpoint's URL as `resource`, and API Gateway knows RSA keys only."""
    seen = seen_by(library, sites(shape, **parameters), plan())

    assert seen["results"] == []
    assert seen["error"]
    assert error in seen["error"]


@among(*LIBRARIES)
def test_a_library_without_an_id_stops_where_nobody_may_register(sites: Sites, seen_by: Seen, library: str) -> None:
    site = sites("cognito")

    seen = seen_by(library, site, plan("registration"))

    assert (seen["results"], site.asked("/authorize")) == ([], [])
    assert seen["error"]


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
@pytest.mark.parametrize("shape", ["strict", "cognito"])
def test_a_machine_signs_in_with_the_secret_of_its_client(sites: Sites, shape: str, method: Any) -> None:
    """As with ConfidentialClient=machines; with the mirror, credentials are bound to its issuer."""
    site = sites(shape)
    server = site.url.removesuffix("/mcp") if shape == "cognito" else site.issuer.url

    seen = anyio.run(seen_by_a_machine, site.url, WITH_SECRET, SECRET, method, server)

    assert seen == DONE[0]
    (asked,) = site.asked("/token")
    assert (asked["grant_type"], asked["resource"]) == ("client_credentials", site.url)


# ----------------------------------------------------------------------------------------------------------- refresh


@among("mcp 2.3", "mcp 1.30")
def test_a_library_refreshes_in_time_and_keeps_the_rotated_token(sites: Sites, seen_by: Seen, library: str) -> None:
    site = sites("strict")

    seen = seen_by(library, site, plan(calls=["ping", "ping", "ping"], hours=True))

    refreshed = [form for form in site.asked("/token") if form["grant_type"] == "refresh_token"]
    assert (seen.get("error"), seen["results"]) == (None, DONE * 3)
    assert len({form["refresh_token"] for form in refreshed}) == len(refreshed) == 3, "each token is used once"
    assert {form["resource"] for form in refreshed} == {site.url}
    assert len(site.asked("/authorize")) == 1, "the user is asked once"


@among("client 2.4", "sdk 1.32")
def test_a_library_refreshes_after_a_token_that_expired_seconds_ago(sites: Sites, seen_by: Seen, library: str) -> None:
    site = sites("strict")
    site.issuer.grants.lifetimes[:] = [Lifetime(real=-2, told=600)]

    first = seen_by(library, site, plan())
    expired = {**first["tokens"], "access_token": site.token(exp=1)}
    second = seen_by(library, site, plan(tokens=expired))

    refreshed = [form for form in site.asked("/token") if form["grant_type"] == "refresh_token"]
    assert [(seen.get("error"), seen["results"]) for seen in (first, second)] == [(None, DONE)] * 2
    assert len({form["refresh_token"] for form in refreshed}) == len(refreshed) == 2, "each token is used once"
    assert {form["resource"] for form in refreshed} == {site.url}
    assert len(site.asked("/authorize")) == 1, "the user is asked once"


# ----------------------------------------------------------------------------------------------------------- step-up


def earlier(site: Site, scope: str) -> dict[str, Any]:
    """Return tokens of an earlier sign-in with another scope, without a refresh token."""
    return {"access_token": site.token(scope=scope), "token_type": "Bearer", "scope": scope}


# F6
@among(*LIBRARIES)
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_with_step_up_a_library_asks_for_the_scope_that_the_endpoint_needs(
    sites: Sites, seen_by: Seen, library: str, mode: str
) -> None:
    site = sites("strict", StepUp="on")

    seen = seen_by(library, site, plan(mode=mode, tokens=earlier(site, "openid")))

    assert (seen.get("error"), seen["results"]) == (None, DONE)
    (asked,) = site.asked("/authorize")
    assert SCOPE in asked["scope"].split()


# F6
@among("mcp 2.3", "client 2.4")
def test_with_step_up_a_library_of_2026_07_28_asks_for_the_scope_of_a_tool(
    sites: Sites, seen_by: Seen, library: str
) -> None:
    site = sites("strict", StepUp="on")

    seen = seen_by(library, site, plan(calls=["ping", "refund", "ping"]))

    assert (seen.get("error"), seen["results"]) == (None, DONE * 3)
    first, second = site.asked("/authorize")
    assert first["scope"] == SCOPE
    assert set(second["scope"].split()) == {SCOPE, "refunds"}, "the new token replaces the old one"


# F6
@among("mcp 2.3", "mcp 1.30", "client 2.4")
def test_with_step_up_a_library_asks_its_user_though_it_could_refresh(
    sites: Sites, seen_by: Seen, library: str
) -> None:
    site = sites("strict", StepUp="on")

    seen = seen_by(library, site, plan(tokens=site.sign_in("openid")))

    assert (seen.get("error"), seen["results"]) == (None, DONE)
    (asked,) = site.asked("/authorize")
    assert SCOPE in asked["scope"].split()


# F6
@among("sdk 1.32")
def test_sdk_1_refreshes_where_it_should_step_up_and_gives_up(sites: Sites, seen_by: Seen, library: str) -> None:
    """Its `auth` uses a refresh token whatever scope it was asked for (client/auth.js, client/streamableHttp.js)."""
    site = sites("strict", StepUp="on")

    seen = seen_by(library, site, plan(tokens=site.sign_in("openid")))

    assert (seen["results"], site.asked("/authorize")) == ([], [])
    assert [form["grant_type"] for form in site.asked("/token")] == ["refresh_token"]
    assert "403 after trying upscoping" in seen["error"]


# F6
@among(*LIBRARIES)
def test_by_default_scopes_are_asked_once(sites: Sites, seen_by: Seen, library: str) -> None:
    site = sites("strict")

    seen = seen_by(library, site, plan(tokens=earlier(site, "openid")))

    assert seen["error"]
    assert site.asked("/authorize") == []


# ------------------------------------------------------------------------------------------------------- the mirror


def read(url: str) -> Any:
    answer = httpx.get(url, timeout=HANG_GUARD, trust_env=False)
    return answer.json() if answer.is_success else None


def missed_by_a_strict_client(site: Site) -> list[str]:
    """List what a client misses that refuses as the specification of 2025-11-25 and RFC 8414 say."""
    origin = site.url.removesuffix("/mcp")
    server: str = read(f"{origin}/.well-known/oauth-protected-resource/mcp")["authorization_servers"][0]
    parts = urlsplit(server)
    base, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    places = (
        f"{base}/.well-known/oauth-authorization-server{path}",
        f"{base}/.well-known/openid-configuration{path}",
        f"{base}{path}/.well-known/openid-configuration",
    )
    says = next(document for place in places if (document := read(place)))
    wanted = {
        "issuer": says["issuer"] == server,
        "S256": "S256" in says.get("code_challenge_methods_supported", []),
        "none": "none" in says.get("token_endpoint_auth_methods_supported", []),
    }
    return [name for name, there in wanted.items() if not there]


@pytest.mark.parametrize(
    ("shape", "parameters", "missed"),
    [
        ("strict", {}, []),
        pytest.param("auth0", {}, [], marks=pytest.mark.long),
        pytest.param("lax", {}, ["S256", "none"], marks=pytest.mark.long),
        pytest.param("cognito", {"Metadata": "pool"}, ["S256", "none"], marks=pytest.mark.long),
        ("cognito", {}, []),
    ],
)
def test_the_mirror_has_what_strict_clients_demand(
    sites: Sites, shape: str, parameters: dict[str, str], missed: list[str]
) -> None:
    assert missed_by_a_strict_client(sites(shape, **parameters)) == missed


def test_the_mirror_never_offers_registration(sites: Sites) -> None:
    mirror: dict[str, Any] = read(sites("cognito").url.replace("/mcp", "/.well-known/oauth-authorization-server"))

    assert "registration_endpoint" not in mirror
    endpoints = [str(value) for name, value in mirror.items() if name.endswith("_endpoint")]
    assert endpoints
    assert all(one.startswith(f"{sites('cognito').issuer.origin}/oauth2/") for one in endpoints)


@pytest.mark.long
@among("mcp 2.3", "client 2.4")
def test_announced_documents_work_with_the_mirror(sites: Sites, seen_by: Seen, library: str) -> None:
    site = sites("cognito", ClientDocuments="announce")
    site.issuer.shape = replace(SHAPES["cognito"], becomes_client_by=frozenset({"documents"}))

    seen = seen_by(library, site, plan("documents"))

    assert (seen.get("error"), seen["client_id"]) == (None, DOCUMENT)


@pytest.mark.long
@among("mcp 2.3", "client 2.4")
def test_a_pool_that_begins_to_say_who_it_is_ends_the_mirror_and_no_sign_in(
    sites: Sites, seen_by: Seen, library: str
) -> None:
    """The trap: the libraries compare `iss` with the issuer of the metadata that they read."""
    site = sites(
        "cognito", CallbackUrls=f"http://localhost/{library.partition(' ')[0]}"
    )  # an instance that has not asked
    site.issuer.shape = replace(SHAPES["cognito"], answers_with_iss=True)

    seen = seen_by(library, site, plan())

    assert (seen.get("error"), seen["results"]) == (None, DONE)
    assert missed_by_a_strict_client(site) == ["S256", "none"], "the mirror is gone"


@among("mcp 2.3", "client 2.4")
def test_the_trap_is_real(sites: Sites, seen_by: Seen, library: str) -> None:
    site = sites("cognito")
    assert missed_by_a_strict_client(site) == []  # the function has asked the pool, and serves the mirror
    site.issuer.shape = replace(SHAPES["cognito"], answers_with_iss=True)
    try:
        seen = seen_by(library, site, plan())
    finally:
        site.issuer.shape = SHAPES["cognito"]

    assert (seen["results"], len(site.asked("/authorize"))) == ([], 1)
    assert "iss" in seen["error"].lower()
