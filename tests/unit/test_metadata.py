"""The sign-in metadata (RFC 9728, RFC 8414): public, the same for every caller, and independent of the request."""

import json
from collections.abc import Callable, Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from packages.local.tests.issuer import DISCOVERY, TestIssuer
from stepwire_local.http_server import LoopbackServer, QuietHandler
from stepwire_local.lambdas.loading import load_handler
from tests.recorded import recorded

FOLDER = Path(__file__).parents[2] / "functions/metadata"
ENVIRONMENT = {
    "AUTHORIZER": "jwt",
    "RESOURCE": "https://a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com/mcp",
    "RESOURCE_NAME": "Workflows of Example Ltd",
    "ISSUER": "https://issuer.example/pool",
    "SCOPES": "tools:call,refunds",
    "SIGN_IN_URL": "",
    "GRANT_TYPES": "authorization_code,refresh_token",
    "CLIENT_DOCUMENTS": "hide",
    "CLIENT_ID": "",
    "CALLBACK_URL": "http://localhost:8080/callback",
}
ORIGIN = ENVIRONMENT["RESOURCE"].removesuffix("/mcp")
SERVER = "GET /.well-known/oauth-authorization-server"
NOBODY = "http://127.0.0.1:1"  # nothing listens there
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
        "resource_name": "Workflows of Example Ltd",
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


# ------------------------------------------------------------------------------------------------------- the mirror


def of_the_server(**given: str) -> dict[str, Any]:
    """Return the event of a request for the authorization server's metadata."""
    return recorded("http_get") | {"routeKey": SERVER} | given


@pytest.fixture
def pool() -> Iterator[TestIssuer]:
    """A user pool, with metadata as Cognito has them."""
    with TestIssuer() as pool:
        for missing in ("code_challenge_methods_supported", "token_endpoint_auth_methods_supported"):
            pool.documents[DISCOVERY].pop(missing, None)
        yield pool


@pytest.fixture
def dripping() -> Iterator[LoopbackServer]:
    """A sign-in service that sends a byte now and then, and never ends."""
    is_over = Event()

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nx: ")
            while not is_over.wait(0.02):
                self.wfile.write(b"x")
                self.wfile.flush()

    with LoopbackServer(Handler) as server:
        yield server
        is_over.set()


def test_a_pool_that_sends_a_byte_now_and_then_leaves_the_mirror(dripping: LoopbackServer) -> None:
    pool: Any = SourceFileLoader("metadata_pool", str(FOLDER / "pool.py")).load_module()

    assert not pool.pool_does_without_a_mirror(dripping.origin, dripping.origin, "", NOBODY, patience=0.1)


def mirrored(pool: TestIssuer) -> dict[str, str]:
    """Return the environment of a mirror for a pool."""
    return {"ISSUER": pool.url, "SIGN_IN_URL": pool.url, "CLIENT_ID": "the-client"}


def test_the_mirror_names_the_pool_s_own_endpoints_and_what_strict_clients_demand(ask: Ask, pool: TestIssuer) -> None:
    """F1."""
    answer = ask(of_the_server(), **mirrored(pool))

    assert answer["statusCode"] == 200
    assert json.loads(answer["body"]) == {
        "issuer": ORIGIN,
        "authorization_endpoint": f"{pool.url}/oauth2/authorize",
        "token_endpoint": f"{pool.url}/oauth2/token",
        "revocation_endpoint": f"{pool.url}/oauth2/revoke",
        "scopes_supported": ["tools:call", "refunds"],
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post"],
        "code_challenge_methods_supported": ["S256"],
        "client_id_metadata_document_supported": False,
    }


def test_the_resource_names_the_issuer_of_the_mirror(ask: Ask, pool: TestIssuer) -> None:
    """RFC 8414, 3.3: clients compare the two strings."""
    resource, server = (json.loads(ask(event, **mirrored(pool))["body"]) for event in (None, of_the_server()))

    assert resource["authorization_servers"] == [server["issuer"]]


def test_the_mirror_says_that_documents_are_accepted_only_if_the_owner_says_so(ask: Ask, pool: TestIssuer) -> None:
    announced = json.loads(ask(of_the_server(), **mirrored(pool), CLIENT_DOCUMENTS="announce")["body"])

    assert announced["client_id_metadata_document_supported"] is True


def test_the_mirror_never_offers_registration_whatever_the_pool_says(ask: Ask, pool: TestIssuer) -> None:
    pool.documents[DISCOVERY]["registration_endpoint"] = f"{pool.url}/oauth2/register"

    assert "registration_endpoint" not in json.loads(ask(of_the_server(), **mirrored(pool))["body"])


def test_the_mirror_does_not_depend_on_the_request(ask: Ask, pool: TestIssuer) -> None:
    event = of_the_server(rawPath="/evil", rawQueryString="issuer=https://evil.example")
    event["headers"] = {"host": "evil.example", "x-forwarded-host": "evil.example"}

    assert ask(event, **mirrored(pool)) == ask(of_the_server(), **mirrored(pool))


COMPLETE = {"code_challenge_methods_supported": ["S256"], "token_endpoint_auth_methods_supported": ["none"]}


@pytest.mark.parametrize(
    ("says", "stands_aside"),
    [
        ({}, False),
        ({"code_challenge_methods_supported": ["S256"]}, False),
        (COMPLETE, True),
        (COMPLETE | {"code_challenge_methods_supported": "S256"}, False),
        ({"authorization_response_iss_parameter_supported": True}, True),
        ({"authorization_response_iss_parameter_supported": "true"}, False),
        ({"authorization_response_iss_parameter_supported": False}, False),
    ],
)
def test_the_mirror_stands_aside_if_the_pool_says_enough_or_announces_iss(
    ask: Ask, pool: TestIssuer, says: dict[str, Any], stands_aside: bool
) -> None:
    pool.documents[DISCOVERY] |= says

    answer, resource = (ask(event, **mirrored(pool)) for event in (of_the_server(), None))

    assert answer["statusCode"] == (404 if stands_aside else 200)
    assert json.loads(resource["body"])["authorization_servers"] == [pool.url if stands_aside else ORIGIN]


@pytest.mark.parametrize(
    ("location", "stands_aside"),
    [
        ("{callback}?error=invalid_scope", False),
        ("{callback}?error=invalid_scope&iss=https%3A%2F%2Fpool.example", True),
        ("/login?iss=of-a-page", False),
        ("", False),
    ],
)
def test_the_mirror_stands_aside_if_the_pool_s_answers_have_iss(
    ask: Ask, pool: TestIssuer, location: str, stands_aside: bool
) -> None:
    """RFC 9207 wants iss in errors too, and such an error needs nobody's sign-in."""
    pool.redirects["/oauth2/authorize"] = location.format(callback=ENVIRONMENT["CALLBACK_URL"])

    answer = ask(of_the_server(), **mirrored(pool))

    assert answer["statusCode"] == (404 if stands_aside else 200)
    (asked,) = (path for path in pool.asked if path.startswith("/oauth2/authorize?"))
    assert parse_qs(urlsplit(asked).query) == {
        "response_type": ["code"],
        "client_id": ["the-client"],
        "redirect_uri": [ENVIRONMENT["CALLBACK_URL"]],
        "scope": ["none/such"],
    }


def test_a_pool_whose_client_is_unknown_is_not_asked_to_answer(ask: Ask, pool: TestIssuer) -> None:
    ask(of_the_server(), **mirrored(pool) | {"CLIENT_ID": ""})

    assert pool.asked == [DISCOVERY]


def test_the_pool_is_asked_once_per_instance(pool: TestIssuer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**ENVIRONMENT, **mirrored(pool)}.items():
        monkeypatch.setenv(name, value)
    handler = load_handler("app.handler", FOLDER, "MetadataFunction")

    for event in (recorded("http_get"), of_the_server(), of_the_server()):
        handler(event, None)

    assert [urlsplit(path).path for path in pool.asked] == [DISCOVERY, "/oauth2/authorize"]


def test_the_pool_is_not_asked_if_there_is_no_mirror(ask: Ask, pool: TestIssuer) -> None:
    ask(**mirrored(pool) | {"SIGN_IN_URL": ""})

    assert pool.asked == []


@pytest.mark.parametrize("document", [[], "text", None, {"code_challenge_methods_supported": {"S256": 1}}, 1])
def test_a_malformed_document_of_the_pool_leaves_the_mirror(ask: Ask, pool: TestIssuer, document: Any) -> None:
    pool.documents[DISCOVERY] = document

    assert ask(of_the_server(), **mirrored(pool))["statusCode"] == 200


def test_a_document_of_a_megabyte_or_a_redirect_leaves_the_mirror(ask: Ask, pool: TestIssuer) -> None:
    pool.documents[DISCOVERY] = COMPLETE | {"padding": "x" * 1_000_000}
    assert ask(of_the_server(), **mirrored(pool))["statusCode"] == 200

    pool.documents["/elsewhere"] = COMPLETE
    pool.redirects[DISCOVERY] = f"{pool.url}/elsewhere"
    assert ask(of_the_server(), **mirrored(pool))["statusCode"] == 200
    assert "/elsewhere" not in pool.asked


def test_a_pool_that_does_not_answer_leaves_the_mirror(ask: Ask) -> None:
    answer = ask(of_the_server(), ISSUER=NOBODY, SIGN_IN_URL=NOBODY, CLIENT_ID="the-client")

    assert json.loads(answer["body"])["token_endpoint"] == f"{NOBODY}/oauth2/token"


class Nonsense(QuietHandler):
    """Answers with something that is not HTTP."""

    def do_GET(self) -> None:
        self.wfile.write(b"nonsense\r\n\r\n")
        self.close_connection = True


def test_a_pool_that_does_not_speak_http_leaves_the_mirror(ask: Ask) -> None:
    with LoopbackServer(Nonsense) as pool:
        answer = ask(of_the_server(), ISSUER=pool.origin, SIGN_IN_URL=pool.origin, CLIENT_ID="the-client")

    assert json.loads(answer["body"])["token_endpoint"] == f"{pool.origin}/oauth2/token"


def test_without_a_mirror_there_are_no_metadata_of_a_server(ask: Ask) -> None:
    assert ask(of_the_server())["statusCode"] == 404
