"""`stepwire sign-in`: which URLs it reads, in which order, and which it does not; answers that are none."""

import httpx2
import pytest

from packages.command.tests.sites import (
    HTML,
    ISSUER,
    ISSUER_AT,
    NOT_FOUND,
    OPENID_AT,
    RESOURCE_AT,
    ROOT_AT,
    UNAUTHORIZED,
    URL,
    Web,
    resource,
    said,
    site,
)
from stepwire_cli.exits import CommandError, Exit
from stepwire_cli.sign_in.commands import site_at
from stepwire_cli.sign_in.fetching import LARGEST


@pytest.mark.parametrize("place", ["path", "header", "root"])
def test_the_places_are_asked_in_the_order_of_the_clients(place: str) -> None:
    named = httpx2.Response(401, headers={"www-authenticate": f'Bearer resource_metadata="{ROOT_AT}/named", a="b"'})
    answers = {URL: named} if place == "header" else {}
    web = Web({URL: UNAUTHORIZED, **answers})

    site_at(URL, web.reader())

    first = [f"{ROOT_AT}/named"] if place == "header" else []
    assert web.asked == [URL, *first, RESOURCE_AT, ROOT_AT]


def test_an_issuer_with_a_path_is_looked_for_in_three_places() -> None:
    issuer = f"{ISSUER}/tenant/"
    web = Web({URL: UNAUTHORIZED, RESOURCE_AT: resource(issuer)})

    site_at(URL, web.reader())

    assert web.asked[2:] == [
        f"{ISSUER}/.well-known/oauth-authorization-server/tenant",
        f"{ISSUER}/.well-known/openid-configuration/tenant",
        f"{ISSUER}/tenant/.well-known/openid-configuration",
    ]


@pytest.mark.parametrize(
    "address",
    [
        *(
            "10.0.0.1",
            "169.254.169.254",
            "127.0.0.1",
            "::1",
            "fd00::1",
            "::ffff:10.0.0.1",
            "168.63.129.16",
            "224.0.0.1",
        ),
        *("64:ff9b::a9fe:a9fe", "2002:7f00:1::", "::ffff:0:7f00:1", "fec0::1"),
    ],
)
def test_a_private_address_that_a_public_server_names_is_not_asked(address: str) -> None:
    web = Web(site(), {"issuer.example.com": address})

    stopped = site_at(URL, web.reader())

    assert "is at a private address, where https://mcp.example.com/mcp has no business: not asked" in said(stopped)
    assert not [url for url in web.asked if url.startswith(ISSUER)]


def test_a_redirect_to_a_private_address_is_not_followed() -> None:
    inside = "http://metadata.internal/latest"
    away = httpx2.Response(302, headers={"location": inside})
    web = Web(site({ISSUER_AT: away, OPENID_AT: away}), {"metadata.internal": "169.254.169.254"})

    stopped = site_at(URL, web.reader())

    assert stopped.stops
    assert inside not in web.asked


def test_a_server_at_a_private_address_may_have_its_issuer_there() -> None:
    private = {"mcp.example.com": "10.0.0.1", "issuer.example.com": "10.0.0.2"}

    assert site_at(URL, Web(site(), private).reader()).findings == ()


def test_redirects_in_a_circle_end() -> None:
    circle = httpx2.Response(302, headers={"location": ISSUER_AT})
    web = Web(site({ISSUER_AT: circle}))

    stopped = site_at(URL, web.reader())

    assert "redirects more than 3 times" in said(stopped)
    assert web.asked.count(ISSUER_AT) == 4


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (HTML, "is no MCP server: it answers 200 (text/html) to a request of MCP."),
        (httpx2.Response(200, json={"ok": True}), "is no MCP server: it answers 200 (application/json)"),
        (NOT_FOUND, "is no MCP server: it answers 404 (application/json)"),
        (
            httpx2.Response(301, headers={"location": "https://new.example.com/mcp"}),
            "redirects to https://new.example.com",
        ),
        (httpx2.ConnectError("Name or service not known"), "does not answer: Name or service not known."),
        (httpx2.ReadTimeout(""), "does not answer: ReadTimeout."),
        (httpx2.Response(200, content=b"x" * (LARGEST + 1)), "has more than 1 MB."),
    ],
)
def test_what_is_no_mcp_server_is_an_error_in_one_line(answer: object, reason: str) -> None:
    with pytest.raises(CommandError) as caught:
        site_at(URL, Web({URL: answer, "*": HTML if answer is HTML else NOT_FOUND}).reader())

    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.code == Exit.UNREACHABLE


def test_answers_are_asked_for_uncompressed_so_that_their_size_is_seen() -> None:
    reader, asked = Web(site()).reader(), list[str]()

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.headers["accept-encoding"])
        return httpx2.Response(200, json={"jsonrpc": "2.0"})

    reader.http = httpx2.Client(transport=httpx2.MockTransport(answer))
    site_at(URL, reader)

    assert set(asked) == {"identity"}


def test_a_body_that_trickles_is_given_up() -> None:
    reader = Web(site()).reader()
    ticks = iter(range(0, 1_000_000, 20))
    reader.now = lambda: float(next(ticks))
    content = httpx2.Response(200, content=iter([b"{"] * 100))
    reader.http = httpx2.Client(transport=httpx2.MockTransport(lambda _: content))

    with pytest.raises(CommandError, match="does not end within 30 s"):
        site_at(URL, reader)


@pytest.mark.parametrize(
    "url", ["https://x\n/", "https://good.example\t.evil.example/", "https://x/\u202e", "https://x /"]
)
def test_what_python_would_shorten_is_no_url(url: str) -> None:
    web = Web(site({RESOURCE_AT: resource(url)}))

    found = site_at(URL, web.reader())

    assert "is no URL" in said(found)
