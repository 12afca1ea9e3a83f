"""`stepwire sign-in check`: what servers and issuers announce, and what of it is wrong."""

import json
from typing import Any

import httpx2
import pytest

from packages.command.tests.sites import (
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
    mirror,
    resource,
    said,
    without,
)
from stepwire_cli.sign_in.commands import as_json, checked, site_at
from stepwire_cli.sign_in.facts import Guard
from stepwire_cli.sign_in.fetching import LARGEST
from stepwire_cli.sign_in.hosts import HOSTS

JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
ID_JAG = "urn:ietf:params:oauth:grant-profile:id-jag"
PROFILES = "authorization_grant_profiles_supported"
EC = {"keys": [{"kty": "EC", "use": "sig"}]}
NOT_AWS = httpx2.Response(401, headers={"www-authenticate": "Bearer"}, json={})


def facts(changes: Answers | None = None) -> dict[str, str]:
    """Return the lines of a check, by the words in front."""
    return {line[:14].rstrip(): line[14:] for line in checked(found(changes))}


def test_good_metadata_are_told_as_they_are_and_nothing_is_wrong_with_them() -> None:
    good = facts()

    assert good.pop("ID-JAG").startswith("not announced")
    assert good == {
        "server": f"{URL}, which asks for a sign-in",
        "resource": URL,
        "scopes": "call",
        "issuer": ISSUER,
        "metadata": ISSUER_AT,
        "PKCE": "S256",
        "token auth": "none, client_secret_post",
        "documents": "client ID metadata documents are announced",
        "registration": f"{ISSUER}/register",
        "iss": "in its answers",
        "keys": "RSA",
    }


@pytest.mark.parametrize(
    ("issuer", "name", "words"),
    [
        (
            without("client_id_metadata_document_supported"),
            "documents",
            "client ID metadata documents are not announced",
        ),
        (without(client_id_metadata_document_supported="true"), "documents", "client ID metadata documents are not"),
        (without("registration_endpoint"), "registration", "not announced"),
        (without("authorization_response_iss_parameter_supported"), "iss", "not announced"),
        (without("token_endpoint_auth_methods_supported"), "token auth", "no list"),
        (without(token_endpoint_auth_methods_supported=[]), "token auth", "none"),
        (without("code_challenge_methods_supported"), "PKCE", "no list"),
        (without("code_challenge_methods_supported"), "note", "the issuer's metadata lack S256 in code_challenge"),
        (without(code_challenge_methods_supported=["plain"]), "wrong", "the issuer's code_challenge_methods_supported"),
        (without(grant_types_supported=["client_credentials"]), "wrong", "the issuer's grant_types_supported does not"),
        (without(issuer="https://other.example.com"), "wrong", f"the metadata of {ISSUER} name another issuer"),
    ],
)
def test_what_the_issuer_announces_is_a_line_each(issuer: dict[str, Any], name: str, words: str) -> None:
    assert facts({ISSUER_AT: issuer})[name].startswith(words)


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
    assert line.startswith(f"ID-JAG        {text}")
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

    assert stopped.stops
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
def test_what_is_worth_a_note_stops_nobody(changes: Answers, what: str) -> None:
    lenient = found(changes)

    assert lenient.stops == ()
    assert what in said(lenient)
    assert bool(lenient.findings) is bool(what)


def test_a_mirror_of_the_server_itself_needs_no_keys() -> None:
    origin = "https://mcp.example.com"
    place = f"{origin}/.well-known/oauth-authorization-server"
    keyless = without("jwks_uri", issuer=origin)

    mirrored = found({RESOURCE_AT: resource(origin), place: keyless})

    assert mirrored.findings == ()


@pytest.mark.parametrize(("documents", "is_announced"), [("announce", True), ("hide", False)])
def test_stepwires_own_mirror_of_a_user_pool_has_nothing_wrong(documents: str, is_announced: bool) -> None:
    own = site_at(URL, mirror(documents).reader())

    assert own.findings == ()
    assert own.issuer is not None
    assert (own.issuer.takes_documents, own.issuer.registration_endpoint) == (is_announced, None)
    assert "none" in (own.issuer.token_auth_methods or ())


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
    opened = site_at(URL, Web({URL: answer}).reader())

    assert opened.guard is Guard.OPEN
    assert [*checked(opened)] == [f"server        {URL}, which asks for no sign-in"]


def test_a_server_that_lets_initialize_pass_but_has_metadata_asks_for_a_sign_in() -> None:
    answer = httpx2.Response(200, json={"jsonrpc": "2.0", "id": 1, "result": {}})

    assert found({URL: answer}).guard is Guard.ASKS


def test_an_endpoint_of_authorizer_iam_is_recognized() -> None:
    forbidden = httpx2.Response(403, headers={"apigw-requestid": "1"}, json={"message": "Forbidden"})

    assert "with Authorizer=iam it takes requests signed with SigV4 only" in said(
        site_at(URL, Web({URL: forbidden}).reader())
    )


def test_what_a_server_writes_is_shown_in_bounds() -> None:
    longest = max(
        len(line) for line in checked(found({RESOURCE_AT: resource(resource="https://x.example/" + "y" * 900_000)}))
    )

    assert longest < 1_000


def test_the_json_of_a_check_is_json() -> None:
    value = json.loads(json.dumps(as_json(found())))

    assert value["issuer"]["issuer"] == ISSUER
    assert value["findings"] == []


def test_the_table_of_hosts_is_whole() -> None:
    assert len({host.key for host in HOSTS}) == len(HOSTS) > 14
    for host in HOSTS:
        assert ("{port}" in "".join(host.callbacks)) <= (host.port > 0), host.key
