"""`stepwire publish`: what it prints is what the APIs and the registry take."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import botocore.session
import httpx2
import pytest
from botocore.validate import ParamValidator
from msgspec.structs import replace

from packages.command.tests.sites import NOT_FOUND, UNAUTHORIZED, URL, Web, site
from stepwire.rendering import Identity
from stepwire_cli.__main__ import in_front
from stepwire_cli.app import run
from stepwire_cli.exits import CommandError, Exit
from stepwire_cli.publish import agentcore
from stepwire_cli.publish.agentcore import ONE_CALLER, Described, Grant, Printed, Said, Wanted
from stepwire_cli.publish.publishing import target_at
from tests.clients.endpoint import serving
from tests.kits import OPTIONAL, World, catalog_of

Json = dict[str, Any]
FORBIDDEN: Final = httpx2.Response(403, headers={"apigw-requestid": "1"}, json={"message": "Forbidden"})
OPEN: Final[Json] = {"jsonrpc": "2.0", "id": 1, "result": {}}
AWS_URL: Final = "https://abc123.execute-api.eu-central-1.amazonaws.com/mcp"
INFO: Final[Json] = {"name": "stepwire", "title": "Stepwire", "version": "1.0.0"}
WANTED: Final = Wanted(
    "orders-0123456789", "stepwire", "arn:aws:bedrock-agentcore:eu-central-1:123456789012:p", Grant.EXCHANGE
)
# The rules of the MCP registry's schema of 2025-12-11, as far as they are about what is written here.
REQUIRED: Final = {"name", "description", "version"}
PROPERTIES: Final = REQUIRED | {"$schema", "title", "websiteUrl", "icons", "remotes"}
PATTERNS: Final = {
    "name": r"(?=.{3,200}$)[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+",
    "title": r".{1,100}",
    "description": r".{1,100}",
    "version": r"(?!latest$|.*[\^~<>=*]).{1,255}",
}


def wanted(**changes: Any) -> Wanted:
    return Wanted(**{**vars(WANTED), **changes})


def check_input(service: str, operation: str, given: Json) -> None:
    """Hold an input against botocore's model of the API, its patterns too, which botocore does not check."""
    shape: Any = botocore.session.get_session().get_service_model(service).operation_model(operation).input_shape
    report: Any = ParamValidator().validate(given, shape)
    assert not report.has_errors(), report.generate_report()
    for place, text, pattern in patterns(given, shape):
        assert re.fullmatch(pattern, text), f"{place}: {text}"


def patterns(value: Any, shape: Any, place: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield each text that has a pattern."""
    match shape.type_name:
        case "structure":
            for name, one in value.items():
                yield from patterns(one, shape.members[name], f"{place}.{name}")
        case "list":
            for one in value:
                yield from patterns(one, shape.member, place)
        case "string" if found := shape.metadata.get("pattern"):
            yield place, value, found
        case _:
            pass


def printed_for(answers: dict[str, object], one: Wanted = WANTED, url: str = URL) -> Printed:
    found = target_at(url, one, Web(answers).reader(url))
    check_input("bedrock-agentcore-control", "CreateGatewayTarget", found.document)
    return found


# -------------------------------------------------------------------------------------------------------------- target


@pytest.mark.parametrize(
    ("grant", "api", "more", "listing", "whose"),
    [
        (Grant.EXCHANGE, "TOKEN_EXCHANGE", {}, "DYNAMIC", "a task belongs to the user whose token"),
        (
            Grant.CODE,
            "AUTHORIZATION_CODE",
            {"defaultReturnUrl": "https://RETURN_URL"},
            "DEFAULT",
            "a task belongs to the user who signed in",
        ),
        (Grant.MACHINE, "CLIENT_CREDENTIALS", {}, "DEFAULT", ONE_CALLER),
    ],
)
def test_a_server_that_takes_tokens_gets_oauth(grant: Grant, api: str, more: Json, listing: str, whose: str) -> None:
    found = printed_for(site(), wanted(grant=grant))

    (credentials,) = found.document["credentialProviderConfigurations"]
    oauth = credentials["credentialProvider"]["oauthCredentialProvider"]
    assert oauth == {"providerArn": WANTED.provider, "scopes": ["call"], "grantType": api, **more}
    assert found.document["targetConfiguration"]["mcp"]["mcpServer"]["listingMode"] == listing
    assert found.notes[0].startswith(whose)


def test_given_scopes_replace_those_of_the_server() -> None:
    (credentials,) = printed_for(site(), wanted(scopes=("refunds",))).document["credentialProviderConfigurations"]

    assert credentials["credentialProvider"]["oauthCredentialProvider"]["scopes"] == ["refunds"]


@pytest.mark.parametrize(
    ("url", "region", "iam"),
    [
        (AWS_URL, None, {"service": "execute-api", "region": "eu-central-1"}),
        (AWS_URL, "us-east-1", {"service": "execute-api", "region": "us-east-1"}),
        (URL, None, {"service": "execute-api"}),
    ],
)
def test_a_server_that_takes_signatures_gets_the_gateway_s_role(url: str, region: str | None, iam: Json) -> None:
    found = printed_for({url: FORBIDDEN}, wanted(region=region), url)

    (credentials,) = found.document["credentialProviderConfigurations"]
    assert credentials == {
        "credentialProviderType": "GATEWAY_IAM_ROLE",
        "credentialProvider": {"iamCredentialProvider": iam},
    }
    assert found.notes[0].startswith(ONE_CALLER)


def test_a_server_without_sign_in_gets_no_credentials_and_a_warning() -> None:
    found = printed_for({URL: OPEN})

    assert "credentialProviderConfigurations" not in found.document
    assert "everybody can also call it without the Gateway" in found.notes[0]


@pytest.mark.parametrize(
    ("query", "endpoint"),
    [
        ("", "?resume=0"),
        ("?group=finance", "?group=finance&resume=0"),
        ("?resume=1", "?resume=1"),
    ],
)
def test_the_gateway_calls_the_url_with_its_query_and_is_not_polled(query: str, endpoint: str) -> None:
    found = printed_for({f"{URL}{query}": OPEN}, url=f"{URL}{query}")

    assert found.document["targetConfiguration"]["mcp"]["mcpServer"]["endpoint"] == f"{URL}{endpoint}"


@pytest.mark.parametrize(
    ("answers", "changes", "code", "words"),
    [
        ({URL: UNAUTHORIZED}, {}, Exit.SIGN_IN, "names no issuer: the Gateway would not know where to sign in"),
        ({URL: NOT_FOUND}, {}, Exit.UNREACHABLE, "is no MCP server"),
        ({URL: httpx2.ConnectError("no route")}, {}, Exit.UNREACHABLE, "does not answer: no route"),
        (site(), {"name": "our_target"}, Exit.USAGE, "'our_target' is no name of a target"),
    ],
)
def test_what_cannot_be_a_target_is_said(answers: dict[str, object], changes: Json, code: Exit, words: str) -> None:
    with pytest.raises(CommandError, match=re.escape(words)) as raised:
        printed_for(answers, wanted(**changes))

    assert raised.value.code == code


# ------------------------------------------------------------------------------------------------------------- records


def check_server_json(document: Json) -> None:
    """Hold a server.json against the rules of the registry."""
    assert document.keys() >= REQUIRED
    assert document.keys() <= PROPERTIES
    assert [name for name, pattern in PATTERNS.items() if not re.fullmatch(pattern, document.get(name, "x"))] == []
    assert [one["type"] for one in document["remotes"]] == ["streamable-http"]
    for icon in document.get("icons", ()):
        assert icon["src"].startswith("https://")
        assert len(icon["src"]) <= 255


def test_a_server_says_most_of_its_server_json_itself() -> None:
    info = {**INFO, "description": "Orders. " * 20, "websiteUrl": "https://example.com", "icons": ICONS}

    printed = agentcore.server_json(Described(URL, info), Said())

    check_server_json(printed.document)
    assert printed.document["name"] == "com.example.mcp/stepwire"
    assert printed.document["icons"] == ICONS[:1]
    assert printed.document["remotes"] == [{"type": "streamable-http", "url": URL}]
    assert printed.notes == ("icons left out: 2; the registry takes https URLs of 255 characters",)


ICONS: Final[list[Json]] = [
    {"src": "https://example.com/icon.png", "mimeType": "image/png", "sizes": ["48x48"]},
    {"src": "data:image/png;base64,AAAA"},
    {"src": "https://example.com/icon.gif", "mimeType": "image/gif"},
]


def test_the_command_line_says_the_rest() -> None:
    said = Said("com.example/orders", "Orders", "Settles orders.", "2.0.0")

    document = agentcore.server_json(Described(URL, INFO), said).document

    check_server_json(document)
    assert {name: document[name] for name in ("name", "title", "description", "version")} == vars(said)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (Said(name="orders"), "'orders' is no name: write --name with a name space"),
        (Said(name="a/b/c"), "'a/b/c' is no name"),
        (Said(title=""), "--title has 0 characters: write 1 to 100."),
        (Said(description="x" * 101), "--description has 101 characters: write 1 to 100."),
        (Said(version="latest"), "'latest' is no version: write --server-version with one such as 1.0.2"),
        (Said(version="^1.2"), "'^1.2' is no version"),
    ],
)
def test_what_no_registry_takes_is_said(said: Said, words: str) -> None:
    with pytest.raises(CommandError, match=re.escape(words)):
        agentcore.server_json(Described(URL, INFO), said)


def test_a_record_has_the_server_and_its_tools() -> None:
    tools = [{"name": "settle_invoices", "inputSchema": {"type": "object"}}]

    document = agentcore.record(Described(URL, INFO, tools), Said(), "ABCDEFGHIJKL").document

    descriptor = document["descriptors"]["mcpServer"]
    check_input("agent-registry-control", "CreateRegistryRecord", document)
    check_server_json(json.loads(descriptor["data"]))
    assert json.loads(descriptor["additionalData"]["tools"]["data"]) == {"tools": tools}


def test_tools_that_do_not_fit_into_a_record_are_left_out() -> None:
    tools = [{"name": f"tool_{number}", "description": "x" * 1_000} for number in range(110)]

    printed = agentcore.record(Described(URL, INFO, tools), Said(), "ABCDEFGHIJKL")

    check_input("agent-registry-control", "CreateRegistryRecord", printed.document)
    assert "additionalData" not in printed.document["descriptors"]["mcpServer"]
    assert printed.notes[0].startswith("the tools are left out: their ")


# ---------------------------------------------------------------------------------------------------- the command line


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Run `stepwire publish` with words; return its code, and what it prints."""
    code = run(in_front(["publish", *words]))
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def url() -> Iterator[str]:
    """The URL of an endpoint with one tool, without sign-in."""
    with serving(World(catalog=catalog_of(replace(OPTIONAL, name="settle_invoices"))).server.handle) as found:
        yield found


def test_server_json_is_indented_for_a_file(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = printed(capsys, "mcp-registry", url, "--name", "com.example/orders")

    assert code == Exit.DONE
    assert out.startswith('{\n  "$schema": ')
    check_server_json(json.loads(out))
    assert err.splitlines()[-1] == f"note: {url} is not https: publish the deployed endpoint"


def test_server_json_shows_the_endpoint_as_its_operator_chose(capsys: pytest.CaptureFixture[str]) -> None:
    world = World()
    shown = Identity("Workflows of Acme", "https://acme.example/flows", "https://acme.example/icon.png")
    world.server = replace(world.server, services=replace(world.services, identity=shown))
    with serving(world.server.handle) as url:
        _, out, _ = printed(capsys, "mcp-registry", url, "--name", "example.acme/flows")

    document = json.loads(out)
    check_server_json(document)
    assert (document["title"], document["websiteUrl"]) == (shown.title, shown.website)
    assert document["icons"] == [{"src": shown.icon}]


def test_a_record_has_the_tools_that_the_caller_sees(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = printed(capsys, "agent-registry", url, "--registry", "ABCDEFGHIJKL")

    document = json.loads(out)
    check_input("agent-registry-control", "CreateRegistryRecord", document)
    tools = json.loads(document["descriptors"]["mcpServer"]["additionalData"]["tools"]["data"])["tools"]
    assert code == Exit.DONE
    assert [tool["name"] for tool in tools if tool["name"] != "task_list"] == ["settle_invoices"]


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (
            ["agentcore-gateway", "{url}"],
            Exit.USAGE,
            "error: The Gateway calls https only, and {url} is not",
        ),
        (["agentcore-gateway"], Exit.USAGE, "error: Which server? Write --url URL, or set STEPWIRE_URL."),
        (
            ["agentcore-gateway", "{url}", "--grant", "x"],
            Exit.USAGE,
            "Usage: stepwire publish agentcore-gateway",
        ),
        *(
            (
                ["mcp-registry", f"https://{host}/mcp"],
                Exit.USAGE,
                f"error: Which name? {host} is in nobody's name space",
            )
            for host in ("abc123.execute-api.eu-central-1.amazonaws.com", "127.0.0.1", "localhost")
        ),
        (
            ["mcp-registry", "https://me:secret@a.example/mcp"],
            Exit.USAGE,
            "error: No URL of a server has a user or a password: leave it out.\n",
        ),
    ],
)
def test_an_error_is_one_line(
    words: list[str],
    code: Exit,
    reason: str,
    url: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("STEPWIRE_URL", raising=False)

    ended, out, err = printed(capsys, *(word.format(url=url) for word in words))

    assert (ended, out) == (code, "")
    assert err.startswith(reason.format(url=url))
