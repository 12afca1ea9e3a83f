"""CORS: what API Gateway's CorsConfiguration does for web pages of other origins, over HTTP."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from packages.local.tests.conftest import TEMPLATE
from packages.local.tests.issuer import AUDIENCE, TestIssuer
from stepwire_local import LocalStack, TemplateError
from stepwire_local.gateway.cors import Cors
from tests.waiting import HANG_GUARD

PAGE = "https://page.example"


@pytest.fixture(scope="module")
def issuer() -> Iterator[TestIssuer]:
    with TestIssuer() as served:
        yield served


@pytest.fixture(scope="module")
def shared(issuer: TestIssuer) -> Iterator[LocalStack]:
    parameters = {
        "Authorizer": "jwt",
        "JwtIssuer": issuer.url,
        "JwtAudience": AUDIENCE,
        "CorsOrigins": f"{PAGE},http://localhost:6274",
        "CorsCredentials": "true",
    }
    with LocalStack(TEMPLATE, parameters=parameters) as stack:
        yield stack


def of_cors(response: httpx.Response) -> dict[str, str]:
    return {name: value for name, value in response.headers.items() if name.startswith("access-control-")}


def preflight(stack: LocalStack, path: str = "/mcp", origin: str = PAGE) -> httpx.Response:
    headers = {
        "origin": origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type",
    }
    return httpx.options(stack.base_url + path, headers=headers)


@pytest.mark.parametrize("path", ["/mcp", "/items/7", "/what/no/route/serves"])
def test_a_preflight_is_answered_without_sign_in(shared: LocalStack, path: str) -> None:
    response = preflight(shared, path)

    assert (response.status_code, response.content) == (204, b"")
    assert of_cors(response) == {
        "access-control-allow-origin": PAGE,
        "access-control-allow-methods": "POST,GET",
        "access-control-allow-headers": "authorization,content-type",
        "access-control-allow-credentials": "true",
        "access-control-expose-headers": "x-answer",
        "access-control-max-age": "600",
    }


def test_the_preflight_of_another_origin_gets_no_cors_headers(shared: LocalStack) -> None:
    response = preflight(shared, origin="https://evil.example")

    assert (response.status_code, of_cors(response)) == (204, {})


def test_a_preflight_to_a_route_for_any_method_needs_sign_in(shared: LocalStack) -> None:
    assert preflight(shared, "/any").status_code == 401


def test_requests_other_than_preflights_are_served_as_usual(shared: LocalStack) -> None:
    assert httpx.options(shared.url).status_code == 404
    assert httpx.options(shared.url, headers={"origin": PAGE}).status_code == 404


def test_a_page_may_read_the_response(shared: LocalStack, issuer: TestIssuer) -> None:
    headers = {**issuer.bearer(), "origin": PAGE, "x-do": "answer"}

    response = httpx.post(shared.url, headers=headers, timeout=HANG_GUARD)

    assert response.status_code == 201
    assert of_cors(response) == {
        "access-control-allow-origin": PAGE,
        "access-control-allow-credentials": "true",
        "access-control-expose-headers": "x-answer",
    }


@pytest.mark.parametrize("origin", [{}, {"origin": "https://evil.example"}])
def test_cors_headers_of_the_function_are_replaced(
    shared: LocalStack, issuer: TestIssuer, origin: dict[str, str]
) -> None:
    response = httpx.post(shared.url, headers={**issuer.bearer(), "x-do": "answer", **origin}, timeout=HANG_GUARD)

    assert (response.status_code, of_cors(response)) == (201, {})


def test_without_a_configuration_the_headers_of_the_function_are_sent(stack: LocalStack) -> None:
    response = httpx.post(stack.url, headers={"origin": PAGE, "x-do": "answer"}, timeout=HANG_GUARD)

    assert of_cors(response) == {"access-control-allow-origin": "the function's own"}
    assert preflight(stack).status_code == 404


def test_the_challenge_header_of_a_function_is_renamed(stack: LocalStack) -> None:
    response = httpx.post(stack.url, headers={"x-do": "answer"}, timeout=HANG_GUARD)

    assert response.headers["x-amzn-remapped-www-authenticate"] == "Bearer"
    assert "www-authenticate" not in response.headers


def test_every_origin_may_call_if_all_are_allowed() -> None:
    with LocalStack(TEMPLATE, parameters={"CorsOrigins": "*"}) as stack:
        response = httpx.post(stack.url, headers={"origin": PAGE}, timeout=HANG_GUARD)

    assert of_cors(response)["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in response.headers


def test_credentials_and_a_wildcard_origin_are_refused() -> None:
    parameters = {"CorsOrigins": "*", "CorsCredentials": "true"}

    with pytest.raises(TemplateError, match="Api: its CORS settings cannot allow"):
        LocalStack(Path(TEMPLATE), parameters=parameters).__enter__()


@pytest.mark.parametrize(
    ("known", "origin", "allowed"),
    [
        ("https://page.example", "https://page.example", True),
        ("https://page.example", "HTTPS://Page.Example", True),
        ("https://page.example", "http://page.example", False),
        ("https://page.example", "https://page.example.evil.example", False),
        ("https://*", "https://any.example", True),
        ("https://*", "http://any.example", False),
        ("http://*", "http://localhost:1", True),
        ("*", "null", True),
    ],
)
def test_an_origin_is_allowed_by_name_or_pattern(known: str, origin: str, allowed: bool) -> None:
    assert Cors(origins=(known,)).allows(origin) is allowed
