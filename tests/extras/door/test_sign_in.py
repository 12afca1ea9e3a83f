"""Behind a REST API, a client with nothing but the URL gets as far as behind an HTTP API; one stack for all tests."""

import httpx
import pytest

from tests.sign_in.conftest import Seen, Sites, plan
from tests.sign_in.site import Site
from tests.waiting import HANG_GUARD


@pytest.fixture(name="site")
def site_behind_a_rest_api(sites: Sites) -> Site:
    return sites("strict", FrontDoor="rest", OfferedScopes="more")


def test_a_library_signs_in_and_calls_a_tool(site: Site, seen_by: Seen) -> None:
    """F1, F2, F3, F4."""
    seen = seen_by("mcp 2.3", site, plan())

    assert (seen.get("error"), seen["results"]) == (None, [{"said": "done"}])
    (asked,) = site.asked("/authorize")
    assert (asked["resource"], asked["code_challenge_method"]) == (site.url, "S256")


def challenge(response: httpx.Response) -> str:
    assert (response.status_code, response.json()) == (401, {"message": "Unauthorized"})
    return response.headers["www-authenticate"]


def test_the_challenge_says_where_to_sign_in(site: Site) -> None:
    place = site.url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp")

    missing, expired = httpx.post(site.url, timeout=HANG_GUARD), site.listing(site.token(exp=1))

    assert challenge(missing) == f'Bearer resource_metadata="{place}"'
    assert challenge(expired) == f'Bearer error="invalid_token", resource_metadata="{place}"'
    assert httpx.get(place, timeout=HANG_GUARD).json()["resource"] == site.url


@pytest.mark.parametrize(
    ("claims", "status"),
    [({}, 200), ({"token_use": "id"}, 401), ({"aud": "other"}, 401), ({"scope": "more"}, 403), ({"sub": None}, 403)],
)
def test_what_a_token_lacks_is_said_by_the_gateway_or_the_function(
    site: Site, claims: dict[str, str | None], status: int
) -> None:
    assert site.listing(site.token(**claims)).status_code == status


def test_a_path_means_what_it_means_behind_an_http_api(site: Site) -> None:
    headers = {"authorization": f"Bearer {site.token()}"}

    for path in ("/tools/ping", "/"):
        assert httpx.get(f"{site.url}{path}", headers=headers, timeout=HANG_GUARD).status_code == 405
    assert httpx.get(f"{site.url}/elsewhere", headers=headers, timeout=HANG_GUARD).status_code == 404


@pytest.mark.parametrize("path", ["/mcp", "/mcp/tools/ping", "/.well-known/oauth-protected-resource/mcp"])
def test_a_page_that_may_call_gets_its_preflight_and_reads_the_response(site: Site, path: str) -> None:
    url, origin = site.url.replace("/mcp", path), site.url.removesuffix("/mcp")
    asked = {"origin": origin, "access-control-request-method": "POST"}

    preflight = httpx.options(url, headers=asked, timeout=HANG_GUARD)
    foreign = httpx.options(url, headers=asked | {"origin": "https://evil.example"}, timeout=HANG_GUARD)
    answer = httpx.get(url, headers={"origin": origin, "authorization": f"Bearer {site.token()}"}, timeout=HANG_GUARD)

    assert (preflight.status_code, preflight.headers["access-control-allow-origin"]) == (204, origin)
    assert "access-control-allow-origin" not in foreign.headers
    assert answer.headers["access-control-allow-origin"] in (origin, "*")
