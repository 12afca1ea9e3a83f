"""`stepwire sign-in check` and `clients` at the command line, against servers on the loopback."""

import base64
import hashlib
import json
import socket
import tomllib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import yaml

from packages.command.tests.sites import GOOD, RSA
from stepwire_cli.__main__ import in_front
from stepwire_cli.app import run
from stepwire_cli.exits import Exit
from stepwire_local.http_server import LoopbackServer, QuietHandler
from tests.clients.endpoint import serving
from tests.kits import World

MCP = "/mcp"
METADATA = "/.well-known/oauth-protected-resource/mcp"
ISSUER = "/.well-known/oauth-authorization-server"
BLOCKS = {"vscode": "servers", "cursor": "mcpServers", "gemini": "mcpServers", "kiro": "mcpServers", "opencode": "mcp"}


@contextmanager
def pages(changes: dict[str, Any] | None = None) -> Generator[str]:
    """Serve an endpoint and its issuer on one port; a path's value is JSON, or a status."""
    answers: dict[str, Any] = {}

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            self.body()
            self.do_GET()

        def do_GET(self) -> None:
            found = answers.get(self.path, 404)
            if isinstance(found, int):
                self.reply(found, b"{}")
            else:
                self.reply(200, json.dumps(found).encode())

    server = LoopbackServer(Handler)
    origin = server.origin
    issuer = {name: value for name, value in GOOD.items() if name != "registration_endpoint"}
    answers.update(
        {
            MCP: 401,
            METADATA: {"resource": origin + MCP, "authorization_servers": [origin], "scopes_supported": ["call"]},
            ISSUER: {
                **issuer,
                "issuer": origin,
                "jwks_uri": f"{origin}/keys",
            },
            "/keys": RSA,
            **(changes or {}),
        }
    )
    with server:
        yield origin + MCP


@pytest.fixture
def url() -> Iterator[str]:
    """The URL of an endpoint whose issuer takes metadata documents and registers nobody."""
    with pages() as found:
        yield found


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Run a command; return its code, and what it prints."""
    code = run(in_front(["sign-in", *words]))
    out, err = capsys.readouterr()
    return code, out, err


def test_check_prints_what_the_server_and_its_issuer_announce(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = printed(capsys, "check", url)

    assert (code, err) == (Exit.DONE, "")
    assert out.startswith(f"server        {url}, which asks for a sign-in\nresource      {url}\n")
    assert f"\nissuer        {url.removesuffix(MCP)}\n" in out
    assert "\nregistration  not announced\n" in out


def test_check_as_json(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = printed(capsys, "check", url, "--json")

    issuer = json.loads(out)["issuer"]
    assert (issuer["takes_documents"], issuer["registration_endpoint"]) == (True, None)


def test_check_fails_where_no_host_can_sign_in(capsys: pytest.CaptureFixture[str]) -> None:
    with pages({ISSUER: 404}) as url:
        code, out, _ = printed(capsys, "check", url)

    assert code == Exit.FAILED
    assert "\nwrong         the metadata of the issuer" in out


def test_stepwire_without_a_sign_in_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(World().server.handle) as url:
        monkeypatch.setenv("STEPWIRE_URL", url)
        code, out, _ = printed(capsys, "check")

    assert code == Exit.DONE
    assert out.endswith(", which asks for no sign-in\n")


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (["check"], Exit.USAGE, "error: Which server? Write --url URL, or set STEPWIRE_URL.\n"),
        (["check", "mcp.example.com"], Exit.USAGE, "error: 'mcp.example.com' is no URL of a server:"),
        (["check", "http://[broken"], Exit.USAGE, "error: 'http://[broken' is no URL of a server:"),
        (
            ["clients", "https://a.example/mcp", "--host", "emacs"],
            Exit.UNKNOWN,
            "error: There is no host emacs: choose",
        ),
        (
            ["check", "http://127.0.0.1:{port}/mcp"],
            Exit.UNREACHABLE,
            "error: http://127.0.0.1:{port}/mcp does not answer",
        ),
    ],
)
def test_an_error_is_one_line(
    words: list[str], code: Exit, reason: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STEPWIRE_URL", raising=False)
    with socket.socket() as taken:  # bound, and not listening: a connection is refused
        taken.bind(("127.0.0.1", 0))
        port = str(taken.getsockname()[1])
        found = printed(capsys, *(word.replace("{port}", port) for word in words))

    assert found[0] == code
    assert found[2].startswith(reason.replace("{port}", port))
    assert found[2].count("\n") == 1


def configured(capsys: pytest.CaptureFixture[str], url: str, *words: str) -> dict[str, Any]:
    """Return the configurations, by host."""
    _, out, _ = printed(capsys, "clients", url, "--json", *words)
    return {one["host"]: one["configuration"] for one in json.loads(out)}


@pytest.mark.parametrize("client_id", [None, "an-id"])
def test_each_file_is_of_the_hosts_format_and_names_the_server(
    client_id: str | None, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = configured(capsys, url, *([] if client_id is None else ["--client-id", client_id]))

    files = {host: json.loads(made[host]["text"])[block]["stepwire"] for host, block in BLOCKS.items()}
    files["codex"] = tomllib.loads(made["codex"]["text"])["mcp_servers"]["stepwire"]
    files["goose"] = yaml.safe_load(made["goose"]["text"])["extensions"]["stepwire"]
    assert {host for host, file in files.items() if url not in file.values()} == set()
    assert "CLIENT_ID" in made["slackbot"]["text"] or client_id is not None, "it always needs one"
    assert all(("an-id" in json.dumps(file)) is (client_id is not None) for file in files.values())


def test_the_callback_of_codex_is_computed_from_the_url(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    made = configured(capsys, url, "--client-id", "an-id", "--callback-port", "4000")["codex"]

    computed = base64.urlsafe_b64encode(hashlib.sha256(url.encode()).digest()[:9]).decode()
    assert made["callbacks"] == [f"http://127.0.0.1:4000/callback/{computed}"]
    assert tomllib.loads(made["text"])["mcp_oauth_callback_port"] == 4000


def test_gemini_with_an_id_is_told_the_endpoints(capsys: pytest.CaptureFixture[str]) -> None:
    with pages() as url:
        made = configured(capsys, url, "--client-id", "an-id")["gemini"]

    oauth = json.loads(made["text"])["mcpServers"]["stepwire"]["oauth"]
    assert (oauth["authorizationUrl"], oauth["tokenUrl"]) == (GOOD["authorization_endpoint"], GOOD["token_endpoint"])
    assert (oauth["scopes"], [oauth["redirectUri"]]) == (["call"], made["callbacks"])


def test_one_host_is_printed_alone(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = printed(capsys, "clients", url, "--host", "claude-code", "--client-id", "an-id")

    assert code == Exit.DONE
    assert out.splitlines() == [
        "# Claude Code: a shell",
        f"claude mcp add --transport http --client-id an-id --callback-port 8080 stepwire {url}",
        "# callback: http://localhost:8080/callback",
    ]
