"""`stepwire sign-in`: what each host demands, what issuers say, and whether a host can sign in."""

import json
from typing import Any

import httpx2
import pytest

from packages.command.tests.sites import (
    EVERY,
    GOOD,
    HTML,
    ISSUER,
    ISSUER_AT,
    KEYS_AT,
    NOT_FOUND,
    OPENID_AT,
    RESOURCE_AT,
    ROOT_AT,
    RSA,
    URL,
    Answers,
    Web,
    found,
    hosts,
    mirror,
    of,
    resource,
    said,
    without,
)
from stepwire_cli.sign_in.commands import as_json, checked, found_at
from stepwire_cli.sign_in.facts import Guard
from stepwire_cli.sign_in.fetching import LARGEST
from stepwire_cli.sign_in.hosts import HOSTS, Takes
from stepwire_cli.sign_in.rules import Way

NEVER = ["copilot-agent", "responses"]
SECRET = ["agentcore", "slackbot"]
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
ID_JAG = "urn:ietf:params:oauth:grant-profile:id-jag"
PROFILES = "authorization_grant_profiles_supported"
EC = {"keys": [{"kty": "EC", "use": "sig"}]}
NOT_AWS = httpx2.Response(401, headers={"www-authenticate": "Bearer"}, json={})


def test_with_good_metadata_all_hosts_sign_in_by_url_but_those_that_need_a_secret_or_a_token() -> None:
    good = found()

    assert hosts(good, Way.ID) == SECRET
    assert hosts(good, Way.NO) == NEVER
    assert good.site.findings == ()


@pytest.mark.parametrize(
    ("issuer", "host", "text"),
    [
        (without(), "codex", "by URL: client ID metadata document"),
        (without(), "cursor", "by URL: dynamic client registration"),
        (without("client_id_metadata_document_supported"), "codex", "by URL: dynamic client registration"),
        (without(client_id_metadata_document_supported="true"), "codex", "by URL: dynamic client registration"),
        (without("code_challenge_methods_supported"), "chatgpt", "cannot, because the issuer's metadata lack S256"),
        (without("code_challenge_methods_supported"), "codex", "by URL: client ID metadata document"),
        (
            without("code_challenge_methods_supported"),
            "claude",
            "by URL: client ID metadata document (unsure: the issuer's metadata lack S256",
        ),
        (without(code_challenge_methods_supported=["plain"]), "codex", "cannot, because the issuer's code_challenge"),
        (
            without("token_endpoint_auth_methods_supported", "registration_endpoint"),
            "codex",
            "needs a client id: it uses its metadata document only if token_endpoint_auth_methods_supported lists none",
        ),
        (without("token_endpoint_auth_methods_supported"), "goose", "by URL: client ID metadata document"),
        (without("registration_endpoint"), "cursor", "needs a client id: it has no metadata document, and the issuer"),
        (without("registration_endpoint"), "windsurf", "cannot, because it has no metadata document, and the issuer"),
        (
            without("registration_endpoint", "client_id_metadata_document_supported"),
            "vscode",
            "needs a client id: the issuer takes no metadata documents and offers no registration",
        ),
        (without("authorization_response_iss_parameter_supported"), "gemini", "needs a client id: it refuses answers"),
        (without(), "gemini", "by URL: dynamic client registration"),
        (without(), "claude-code", "by URL: client ID metadata document (unsure: the issuer must accept any port"),
        (
            without(token_endpoint_auth_methods_supported=["none"]),
            "agentcore",
            "cannot, because it needs a client with a secret",
        ),
        (
            without("token_endpoint_auth_methods_supported"),
            "agentcore",
            "needs a client id with a secret: it registers",
        ),
        (without(grant_types_supported=["client_credentials"]), "goose", "cannot, because the issuer's grant_types"),
        (without(grant_types_supported=["authorization_code"]), "goose", "by URL: client ID metadata document"),
    ],
)
def test_a_host_gets_what_it_demands_of_an_issuer(issuer: dict[str, Any], host: str, text: str) -> None:
    assert of(found({ISSUER_AT: issuer}), host).text.startswith(text)


@pytest.mark.parametrize(
    ("says", "text"),
    [
        ({"grant_types_supported": ["authorization_code", JWT_BEARER], PROFILES: [ID_JAG]}, "offered: a company's"),
        ({PROFILES: [ID_JAG]}, "offered: a company's"),
        ({"grant_types_supported": ["authorization_code"], PROFILES: [ID_JAG]}, "unclear: "),
        ({"grant_types_supported": ["authorization_code", JWT_BEARER]}, "not announced: jwt-bearer is a grant, but"),
        ({PROFILES: "id-jag"}, "not announced: the metadata list neither"),
        ({}, "not announced: the metadata list neither"),
    ],
)
def test_enterprise_managed_sign_in_is_offered_where_clients_find_its_profile(says: dict[str, Any], text: str) -> None:
    site = found({ISSUER_AT: without(**says)})

    (line,) = [one for one in checked(site) if one.startswith("ID-JAG")]
    assert line.startswith(f"ID-JAG    {text}")
    assert as_json(site)["enterprise_managed"].startswith(text)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        (
            {ISSUER_AT: without(issuer="https://other.example.com")},
            "the metadata of https://issuer.example.com name another issuer, https://other.example.com",
        ),
        ({ISSUER_AT: without(issuer=f"{ISSUER}/tenant")}, "name another issuer, https://issuer.example.com/tenant"),
        (
            {
                RESOURCE_AT: resource(f"{ISSUER}/tenant"),
                f"{ISSUER}/.well-known/oauth-authorization-server/tenant": without(issuer=f"{ISSUER}/tenant/"),
            },
            "name another issuer, https://issuer.example.com/tenant/",
        ),
        ({KEYS_AT: EC}, "the issuer has only EC keys; API Gateway, which checks this server's tokens, knows only RSA"),
        ({KEYS_AT: {"keys": []}}, "no keys could be read; API Gateway"),
        ({KEYS_AT: {"keys": [{"kty": "RSA", "use": "enc"}]}}, "no keys could be read; API Gateway"),
        ({ISSUER_AT: without("jwks_uri")}, "no keys could be read; API Gateway"),
        (
            {RESOURCE_AT: resource(resource="https://mcp.example.com/other")},
            "resource https://mcp.example.com/other, not",
        ),
        ({RESOURCE_AT: resource(resource="https://mcp.example.com/mc")}, "resource https://mcp.example.com/mc, not"),
        ({RESOURCE_AT: resource(resource="https://example.com/mcp")}, "resource https://example.com/mcp, not"),
        (
            {ISSUER_AT: NOT_FOUND},
            "cannot be read: https://issuer.example.com/.well-known/oauth-authorization-server answers",
        ),
        ({ISSUER_AT: without("token_endpoint")}, "has no token_endpoint"),
        ({ISSUER_AT: HTML}, "is not JSON (text/html)"),
        ({ISSUER_AT: ["a list"]}, "is no JSON object"),
        ({ISSUER_AT: httpx2.Response(200, content=b"[" * 100_000)}, "is not JSON"),
        ({ISSUER_AT: httpx2.Response(200, content=b" " * (LARGEST + 1))}, "has more than 1 MB"),
        ({ISSUER_AT: httpx2.ConnectError("no route")}, "does not answer: no route"),
        ({RESOURCE_AT: resource("http://issuer.example.com")}, "is not https"),
        ({RESOURCE_AT: resource("https://[broken")}, "is no URL"),
        ({RESOURCE_AT: resource("ftp://issuer.example.com")}, "is no URL that hosts can ask"),
        ({RESOURCE_AT: resource("https://me:secret@issuer.example.com")}, "is no URL that hosts can ask"),
        ({RESOURCE_AT: NOT_FOUND}, "the server answers 401, and names no issuer"),
        ({RESOURCE_AT: resource(authorization_servers=[])}, "has no authorization_servers"),
        ({RESOURCE_AT: resource(resource=17)}, "has no resource"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_stops_every_host_is_said_once_for_each(changes: Answers, what: str) -> None:
    stopped = found(changes)

    assert hosts(stopped, Way.NO) == EVERY
    assert what in said(stopped)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({URL: NOT_AWS, KEYS_AT: EC}, "the issuer has only EC keys; an API Gateway in front"),
        ({KEYS_AT: {"keys": [*EC["keys"], *RSA["keys"]]}}, ""),
        ({ISSUER_AT: without(issuer=f"{ISSUER}/")}, "name another issuer, https://issuer.example.com/"),
        ({RESOURCE_AT: resource(resource=f"{URL}/")}, "say resource https://mcp.example.com/mcp/, not"),
        ({RESOURCE_AT: resource(authorization_servers=[ISSUER, "https://b.example.com"])}, "names 2 issuers"),
        ({RESOURCE_AT: resource(scopes_supported=[])}, "name no scopes_supported"),
        ({ISSUER_AT: NOT_FOUND, OPENID_AT: dict(GOOD)}, ""),
        ({RESOURCE_AT: NOT_FOUND, ROOT_AT: resource()}, ""),
        (
            {URL: httpx2.Response(403, headers={"www-authenticate": 'Bearer resource_metadata="https://a.example/m"'}),
             RESOURCE_AT: NOT_FOUND, "https://a.example/m": resource()},
            "",
        ),
        (
            {ISSUER_AT: httpx2.Response(301, headers={"location": "/moved"}), f"{ISSUER}/moved": dict(GOOD)},
            "redirects to https://issuer.example.com/moved: hosts on the Python SDK do not follow it",
        ),
    ],
)  # fmt: skip
def test_what_does_not_stop_a_lenient_host(changes: Answers, what: str) -> None:
    lenient = found(changes)

    assert of(lenient, "goose").way is Way.URL
    assert what in said(lenient)
    assert bool(lenient.site.findings) is bool(what)


def test_a_mirror_of_the_server_itself_needs_no_keys() -> None:
    origin = "https://mcp.example.com"
    place = f"{origin}/.well-known/oauth-authorization-server"
    keyless = without("jwks_uri", issuer=origin)

    mirrored = found({RESOURCE_AT: resource(origin), place: keyless})

    assert of(mirrored, "goose").way is Way.URL
    assert mirrored.site.findings == ()


@pytest.mark.parametrize(
    ("documents", "by_url"),
    [("announce", ["claude", "claude-code", "chatgpt", "vscode", "codex", "goose", "opencode"]), ("hide", [])],
)
def test_stepwires_own_mirror_of_a_user_pool_is_enough_for_every_host_with_a_document(
    documents: str, by_url: list[str]
) -> None:
    own = found_at(URL, mirror(documents).reader())

    assert hosts(own, Way.URL) == by_url
    assert hosts(own, Way.NO) == ["windsurf", *NEVER]


def test_vscode_insists_on_its_own_url_as_resource_and_the_others_accept_the_origin() -> None:
    origin = found({RESOURCE_AT: resource(resource="https://mcp.example.com")})

    assert of(origin, "vscode").text == (
        "cannot, because it insists on https://mcp.example.com/mcp as resource, and the server's metadata say "
        "https://mcp.example.com"
    )
    assert of(origin, "goose").way is Way.URL


@pytest.mark.parametrize(
    "answer",
    [
        httpx2.Response(200, json={"jsonrpc": "2.0", "id": 1, "result": {}}),
        httpx2.Response(400, json={"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "No."}}),
        httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=b"event: message\n\n"),
        httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=b" " * (LARGEST + 1)),
    ],
)
def test_an_open_server_needs_no_configuration(answer: httpx2.Response) -> None:
    opened = found_at(URL, Web({URL: answer}).reader())

    assert opened.site.guard is Guard.OPEN
    assert hosts(opened, Way.URL) == EVERY
    assert checked(opened)[-1] == "every host can use its URL"


def test_a_server_that_lets_initialize_pass_but_has_metadata_asks_for_a_sign_in() -> None:
    answer = httpx2.Response(200, json={"jsonrpc": "2.0", "id": 1, "result": {}})

    assert found({URL: answer}).site.guard is Guard.ASKS


def test_an_endpoint_of_authorizer_iam_is_recognized() -> None:
    forbidden = httpx2.Response(403, headers={"apigw-requestid": "1"}, json={"message": "Forbidden"})

    assert "with Authorizer=iam it takes requests signed with SigV4 only" in said(
        found_at(URL, Web({URL: forbidden}).reader())
    )


@pytest.mark.parametrize(
    ("issuer", "refuses", "hint"),
    [
        ("https://acme.okta.com/oauth2/default", True, "Okta lists a registration endpoint"),
        ("https://acme.okta.com.evil.example", False, ""),
        ("https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_a", False, "Cognito compares callbacks whole"),
        ("https://login.microsoftonline.com/1/v2.0", False, "AADSTS9010010"),
        ("https://acme.eu.auth0.com/", False, "Resource Parameter Compatibility Profile"),
        ("https://id.example.com/auth/realms/main", False, "audience mapper"),
    ],
)
def test_known_issuers_have_a_hint(issuer: str, refuses: bool, hint: str) -> None:
    metadata = without("client_id_metadata_document_supported", issuer=issuer)
    place = f"{issuer.rstrip('/')}/.well-known/openid-configuration"

    checked_site = found({RESOURCE_AT: resource(issuer), place: metadata})

    assert hint in said(checked_site)
    assert bool(checked_site.site.findings) is bool(hint)
    assert of(checked_site, "cursor").way is (Way.ID if refuses else Way.URL)


def test_what_a_server_writes_is_shown_in_bounds() -> None:
    longest = max(
        len(line) for line in checked(found({RESOURCE_AT: resource(resource="https://x.example/" + "y" * 900_000)}))
    )

    assert longest < 1_000


def test_the_json_of_a_check_is_json_and_has_every_host_with_its_source() -> None:
    value = json.loads(json.dumps(as_json(found())))

    assert [one["host"] for one in value["hosts"]] == EVERY
    assert all(one["sure"] and one["source"] for one in value["hosts"])
    assert value["issuer"]["issuer"] == ISSUER


def test_the_table_of_hosts_is_whole() -> None:
    assert len(set(EVERY)) == len(EVERY) > 14
    for host in HOSTS:
        assert host.callbacks or host.takes in (Takes.TOKEN, Takes.NOTHING), host.key
        assert ("{port}" in "".join(host.callbacks)) <= (host.port > 0), host.key
