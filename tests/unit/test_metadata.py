"""The Protected Resource Metadata (RFC 9728): public, the same for every caller, and independent of the request."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from local.lambdas.loading import load_handler
from tests.recorded import recorded

FOLDER = Path(__file__).parents[2] / "functions/metadata"
ENVIRONMENT = {
    "AUTHORIZER": "jwt",
    "RESOURCE": "https://a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com/mcp",
    "ISSUER": "https://issuer.example/pool",
    "SCOPES": "tools:call,refunds",
}
Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Send an event to a new instance of the function."""

    def ask(event: dict[str, Any] | None = None, **environment: str) -> dict[str, Any]:
        for name, value in {**ENVIRONMENT, **environment}.items():
            monkeypatch.setenv(name, value)
        return load_handler("app.handler", FOLDER, "MetadataFunction")(event or recorded("http_get"), None)

    return ask


def test_names_the_authorization_server_and_the_scopes(ask: Ask) -> None:
    """F1, F2."""
    document = json.loads(ask()["body"])

    assert document == {
        "resource": "https://a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com/mcp",
        "resource_name": "Stepwire",
        "authorization_servers": ["https://issuer.example/pool"],
        "scopes_supported": ["tools:call", "refunds"],
        "bearer_methods_supported": ["header"],
    }


def test_cognito_scopes_are_prefixed_with_the_resource(ask: Ask) -> None:
    document = json.loads(ask(AUTHORIZER="cognito", SCOPES="call,")["body"])

    assert document["scopes_supported"] == [f"{ENVIRONMENT['RESOURCE']}/call"]


@pytest.mark.parametrize("scopes", ["", ","])
def test_without_scopes_the_member_is_absent(ask: Ask, scopes: str) -> None:
    assert "scopes_supported" not in json.loads(ask(SCOPES=scopes)["body"])


def test_is_json_that_caches_may_keep_and_web_pages_may_read(ask: Ask) -> None:
    response = ask()

    assert response["statusCode"] == 200
    assert response["headers"] == {
        "content-type": "application/json",
        "cache-control": "public, max-age=3600",
        "access-control-allow-origin": "*",
    }


def test_the_document_does_not_depend_on_the_request(ask: Ask) -> None:
    event = recorded("http_get")
    event["headers"] = {"host": "evil.example", "x-forwarded-host": "evil.example", "forwarded": "host=evil.example"}
    event["requestContext"]["domainName"] = "evil.example"
    event["rawPath"] = "/.well-known/oauth-protected-resource/evil"

    assert ask(event) == ask()
