"""Enterprise-managed authorization (SEP-990): a company's identity provider decides who may use the endpoint.

The endpoint does nothing for it: its issuer takes an ID-JAG and answers with a token like any other.
"""

import re
import time
from collections.abc import Iterator
from typing import Any, Final

import httpx
import jwt
import pytest

from stepwire_cli.__main__ import in_front
from stepwire_cli.app import run
from stepwire_local.issuer import SHAPES, Client, LocalIssuer
from stepwire_local.issuer.id_jag import EXCHANGE, ID_JAG, IDENTITY, JWT_BEARER
from tests.sign_in.conftest import Sites
from tests.sign_in.site import SCOPE, SECRET, WITH_SECRET, Site
from tests.waiting import HANG_GUARD

CLIENT: Final = {"client_id": WITH_SECRET, "client_secret": SECRET}


@pytest.fixture(scope="module")
def company() -> Iterator[LocalIssuer]:
    """The identity provider of a company, where its people sign in to the client."""
    with LocalIssuer(SHAPES["strict"], {WITH_SECRET: Client((), SECRET)}) as issuer:
        yield issuer


@pytest.fixture
def site(sites: Sites, company: LocalIssuer) -> Site:
    """An endpoint whose issuer trusts the company, which allows the endpoint."""
    site = sites("strict")
    site.issuer.assertions.resource = site.url
    site.issuer.assertions.providers = {company.url: company.assertions.key}
    company.assertions.servers = {site.url: site.issuer.url}
    return site


def asked(issuer: LocalIssuer, **form: str) -> httpx.Response:
    return httpx.post(f"{issuer.origin}/token", data={**CLIENT, **form}, timeout=HANG_GUARD)


def exchanged(company: LocalIssuer, site: Site, **changes: str) -> httpx.Response:
    """Ask the company for an ID-JAG of a user who has signed in to the client."""
    usual = {"iss": company.url, "sub": "alice", "aud": WITH_SECRET, "exp": int(time.time()) + 60}
    form = {
        "grant_type": EXCHANGE,
        "requested_token_type": ID_JAG,
        "audience": site.issuer.url,
        "resource": site.url,
        "scope": SCOPE,
        "subject_token": company.sign(usual),
        "subject_token_type": IDENTITY,
    }
    return asked(company, **{**form, **changes})


def redeemed(site: Site, assertion: str, **more: str) -> httpx.Response:
    return asked(site.issuer, grant_type=JWT_BEARER, assertion=assertion, **more)


def claims_of(token: str) -> dict[str, Any]:
    return jwt.decode(token, options={"verify_signature": False})


# F4
def test_a_user_calls_the_endpoint_who_was_never_asked_to_sign_in_to_it(company: LocalIssuer, site: Site) -> None:
    assertion = exchanged(company, site).json()
    answer = redeemed(site, assertion["access_token"]).json()

    assert (assertion["issued_token_type"], assertion["token_type"]) == (ID_JAG, "N_A")
    assert site.listing(answer["access_token"]).status_code == 200
    assert site.listing(assertion["access_token"]).status_code == 401, "an ID-JAG is no access token"
    assert "refresh_token" not in answer


def test_the_user_is_the_same_principal_as_after_a_sign_in_of_their_own(company: LocalIssuer, site: Site) -> None:
    by_company = claims_of(redeemed(site, exchanged(company, site).json()["access_token"]).json()["access_token"])
    by_sign_in = claims_of(site.sign_in(SCOPE)["access_token"])

    assert [by_company[name] for name in ("iss", "sub", "aud")] == [by_sign_in[name] for name in ("iss", "sub", "aud")]


@pytest.mark.parametrize(("scope", "status"), [("", 403), ("other", 403), (f"other {SCOPE}", 200)])
def test_a_token_has_the_scopes_that_the_company_allows(
    company: LocalIssuer, site: Site, scope: str, status: int
) -> None:
    answer = redeemed(site, exchanged(company, site, scope=scope).json()["access_token"]).json()

    assert answer["scope"] == scope
    assert site.listing(answer["access_token"]).status_code == status


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
        ({"audience": "https://other.example"}, "invalid_target"),
        ({"subject_token": "no token"}, "invalid_grant"),
        ({"requested_token_type": IDENTITY}, "invalid_request"),
        ({"client_secret": "wrong"}, "invalid_client"),
    ],
)
def test_a_company_signs_nothing_that_it_does_not_allow(
    company: LocalIssuer, site: Site, changes: dict[str, str], error: str
) -> None:
    assert exchanged(company, site, **changes).json() == {"error": error}


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "https://evil.example"},
        {"aud": "https://other.example"},
        {"resource": "https://other.example/mcp"},
        {"client_id": "another"},
        {"exp": 1},
        {"jti": None},
    ],
)
def test_an_issuer_takes_no_assertion_that_is_not_meant_for_it(
    company: LocalIssuer, site: Site, changes: dict[str, Any]
) -> None:
    good = claims_of(exchanged(company, site).json()["access_token"])
    claims = {name: value for name, value in {**good, "jti": "j", **changes}.items() if value is not None}

    assert redeemed(site, company.sign(claims, "oauth-id-jag+jwt")).json() == {"error": "invalid_grant"}
    assert redeemed(site, company.sign(good)).json() == {"error": "invalid_grant"}, "an ID token is none"
    assert redeemed(site, site.issuer.sign(good, "oauth-id-jag+jwt")).json() == {"error": "invalid_grant"}


def test_an_assertion_is_taken_once(company: LocalIssuer, site: Site) -> None:
    assertion = exchanged(company, site).json()["access_token"]

    assert redeemed(site, assertion).status_code == 200
    assert redeemed(site, assertion).json() == {"error": "invalid_grant"}


@pytest.mark.parametrize(
    ("shape", "text"),
    [("strict", "offered: a company's"), pytest.param("keycloak", "not announced: ", marks=pytest.mark.long)],
)
def test_the_command_says_whether_an_issuer_offers_it(
    sites: Sites, capsys: pytest.CaptureFixture[str], shape: str, text: str
) -> None:
    run(in_front(["sign-in", "check", sites(shape).url]))

    assert re.search(rf"^ID-JAG +{re.escape(text)}", capsys.readouterr().out, re.MULTILINE)
