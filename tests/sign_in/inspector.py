"""The released MCP Inspector, signing in at a site: on its command line, and in its page with a real Chromium.

It listens for the callback itself, so each run makes its callback known to the issuer first. It stores what it gets in
a home that does not outlive the block.
"""

import json
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx

from stepwire_local.issuer import Client
from tests.browser.chromium import seen_by_chromium
from tests.npm import NODE, install
from tests.ports import free_port
from tests.sign_in.site import DOCUMENT, GIVEN_ID, Site
from tests.waiting import HANG_GUARD
from tools.hosts.process import Running, home, running

Json = dict[str, Any]
FOLDER: Final = Path(__file__).parent / "node"
PROGRAM: Final = FOLDER / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
_ANSWER: Final = "answer.json"
_SERVERS: Final = "servers.json"
_SIGN_IN: Final = re.compile(
    rb"(http://[^\s\a\x1b]+/authorize\?[^\s\a\x1b]+)[\s\a\x1b]"
)  # it may be a link of the terminal
_PAGE: Final = re.compile(rb"(http://127\.0\.0\.1:\d+\?MCP_INSPECTOR_API_TOKEN=\w+)\s")
_VARIABLES: Final = {"MCP_AUTO_OPEN_ENABLED": "false", "MCP_INSPECTOR_SECRET_STORE": "file"}


@dataclass(frozen=True)
class Setting:
    """What a user of the Inspector enters beside the URL."""

    way: str
    """How it becomes a client: `id`, `documents`, `registration`."""
    era: str = "legacy"


@dataclass(frozen=True)
class CommandLine:
    """The Inspector's command line, with a home of its own."""

    folder: Path
    options: Sequence[str]

    def asks(self, *method: str, signs_in: bool = False) -> Json:
        """Return the answer to a method.

        Args:
            method: `--method` and what belongs to it.
            signs_in: whether the user is asked to, and does.
        """
        words = [str(NODE), str(PROGRAM), "--cli", *self.options, "--output", _ANSWER, *method]
        with running(words, self.folder, _VARIABLES, on_terminal=False) as process:
            if signs_in:
                _open(_shown(process, _SIGN_IN))
            code = process.exit_code()
        assert code == 0, process.text()
        return json.loads((self.folder / "work" / _ANSWER).read_text())


@contextmanager
def command_line(site: Site, setting: Setting) -> Generator[CommandLine]:
    """Give the Inspector's command line."""
    callback = f"http://127.0.0.1:{free_port()}/oauth/callback"
    with _installed(site, setting, callback) as folder:
        options = ["--config", _SERVERS, "--server", "stepwire", "--callback-url", callback, "--format", "json"]
        yield CommandLine(folder, options)


def seen_in_the_page(site: Site, setting: Setting, tool: str) -> Json:
    """Return what the Inspector's page shows to a user who connects to the site and calls a tool."""
    port = free_port()
    ports = {"CLIENT_PORT": str(port), "MCP_SANDBOX_PORT": "0", "MCP_APP_ORIGIN_PORT": "0"}
    words = [str(NODE), str(PROGRAM), "--web", "--config", _SERVERS]
    with (
        _installed(site, setting, f"http://127.0.0.1:{port}/oauth/callback") as folder,
        running(words, folder, {**_VARIABLES, **ports}, on_terminal=False) as process,
    ):
        return seen_by_chromium("inspector.mjs", {"page": _shown(process, _PAGE), "tool": tool})


@contextmanager
def _installed(site: Site, setting: Setting, callback: str) -> Generator[Path]:
    """Give a home with the settings, after making the callback known to the issuer."""
    install(FOLDER)
    site.issuer.clients[GIVEN_ID] = Client((callback,))
    site.issuer.documents[DOCUMENT] = {"client_id": DOCUMENT, "redirect_uris": [callback]}
    given = {"oauth": {"clientId": GIVEN_ID}} if setting.way == "id" else {}
    server = {"type": "http", "url": site.url, "protocolEra": setting.era, **given}
    of_its_own = {"cimd": {"enabled": True, "clientMetadataUrl": DOCUMENT}} if setting.way == "documents" else {}
    with home() as folder:
        storage = folder / ".mcp-inspector" / "storage"
        storage.mkdir(parents=True)
        (storage / "client.json").write_text(json.dumps(of_its_own))
        (folder / "work" / _SERVERS).write_text(json.dumps({"mcpServers": {"stepwire": server}}))
        yield folder


def _shown(process: Running, what: re.Pattern[bytes]) -> str:
    """Wait until the Inspector prints a URL of a kind, and return it."""
    process.until(what.pattern.decode(), lambda: bool(what.search(process.shown)), HANG_GUARD)
    found = what.search(process.shown)
    assert found, process.text()
    return found[1].decode()


def _open(url: str) -> None:
    """Do what a browser does with the page of the issuer, which asks nothing: follow the redirect to the callback."""
    came = httpx.get(url, follow_redirects=True, timeout=HANG_GUARD, trust_env=False)
    assert came.is_success, came.text
