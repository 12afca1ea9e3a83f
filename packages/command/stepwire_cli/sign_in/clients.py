"""The configuration of each host for a server, ready to be copied, and the callbacks to register for an id.

Pure text. An id that is not known is written as CLIENT_ID; no secret is ever written.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from stepwire_cli.sign_in.facts import Issuer, Site
from stepwire_cli.sign_in.hosts import Host

UNKNOWN_ID: Final = "CLIENT_ID"
_NAME: Final = "stepwire"
_APP: Final = "ID_OF_THE_CONNECTION"
_CALLBACK_ID_BYTES: Final = 9  # Codex takes so many of the SHA-256 of the URL


@dataclass(frozen=True)
class Wanted:
    """What a configuration is for."""

    url: str
    client_id: str | None
    """None: none is given, and the host finds one by itself if the issuer lets it."""
    port: int
    callbacks: tuple[str, ...]
    issuer: Issuer | None = None
    scopes: tuple[str, ...] = ()

    @property
    def callback(self) -> str:
        """The callback on this machine."""
        return self.callbacks[0]


@dataclass(frozen=True)
class Configuration:
    """What to enter in a host."""

    where: str
    """The file, the page or the shell that it goes into."""
    text: str
    callbacks: tuple[str, ...]
    """What to register with an id, where the host needs one."""


def callbacks(host: Host, url: str, port: int = 0) -> tuple[str, ...]:
    """Return the callbacks of a host, the computed one of Codex included.

    Args:
        host: the host.
        url: of the server, as it is written in the host's configuration.
        port: of the callback; 0: the host's own.
    """
    digest = hashlib.sha256(url.encode()).digest()[:_CALLBACK_ID_BYTES]
    known = {"port": port or host.port, "url_id": base64.urlsafe_b64encode(digest).decode(), "app": _APP}
    return tuple(one.format(**known) for one in host.callbacks)


def configuration(host: Host, site: Site, client_id: str | None, port: int) -> Configuration:
    """Return the configuration of a host.

    Args:
        host: the host.
        site: the server; a host may have to be told its scopes, and the endpoints of its issuer.
        client_id: with one, the host is configured with it.
        port: of the callback; 0: the host's own.
    """
    own = callbacks(host, site.url, port if host.port else 0)
    given = client_id or (UNKNOWN_ID if host.has_secret else None)
    scopes = () if site.resource is None else site.resource.scopes
    where, text = _HOSTS[host.key](Wanted(site.url, given, port or host.port, own, site.issuer, scopes))
    return Configuration(where, text, own)


def _claude(wanted: Wanted) -> tuple[str, str]:
    lines = [f"Remote MCP server URL: {wanted.url}"]
    if wanted.client_id is not None:
        lines.append(f"Advanced settings, OAuth Client ID: {wanted.client_id}")
    return "Settings, Connectors, Add custom connector", "\n".join(lines)


def _claude_code(wanted: Wanted) -> tuple[str, str]:
    given = "" if wanted.client_id is None else f" --client-id {wanted.client_id} --callback-port {wanted.port}"
    return "a shell", f"claude mcp add --transport http{given} {_NAME} {wanted.url}"


def _chatgpt(wanted: Wanted) -> tuple[str, str]:
    lines = [f"MCP server URL: {wanted.url}", "Authentication: OAuth"]
    if wanted.client_id is not None:
        lines.append(f"OAuth client ID: {wanted.client_id}")
    return "Settings, Apps, Create (developer mode)", "\n".join(lines)


def _vscode(wanted: Wanted) -> tuple[str, str]:
    oauth = {} if wanted.client_id is None else {"oauth": {"clientId": wanted.client_id}}
    return ".vscode/mcp.json", _json({"servers": {_NAME: {"type": "http", "url": wanted.url, **oauth}}})


def _cursor(wanted: Wanted) -> tuple[str, str]:
    auth = {} if wanted.client_id is None else {"auth": {"CLIENT_ID": wanted.client_id}}
    return ".cursor/mcp.json", _json({"mcpServers": {_NAME: {"url": wanted.url, **auth}}})


def _codex(wanted: Wanted) -> tuple[str, str]:
    lines = [f"[mcp_servers.{_NAME}]", f"url = {json.dumps(wanted.url)}"]
    if wanted.client_id is not None:
        lines = [f"mcp_oauth_callback_port = {wanted.port}", "", *lines, "", f"[mcp_servers.{_NAME}.oauth]"]
        lines.append(f"client_id = {json.dumps(wanted.client_id)}")
    return "~/.codex/config.toml", "\n".join(lines)


def _gemini(wanted: Wanted) -> tuple[str, str]:
    server: dict[str, Any] = {"httpUrl": wanted.url}
    if wanted.client_id is not None:
        # With the endpoints it discovers no issuer, and then expects no `iss` in the answer.
        server["oauth"] = {
            "enabled": True,
            "clientId": wanted.client_id,
            "redirectUri": wanted.callback,
            "authorizationUrl": "AUTHORIZATION_URL" if wanted.issuer is None else wanted.issuer.authorization_endpoint,
            "tokenUrl": "TOKEN_URL" if wanted.issuer is None else wanted.issuer.token_endpoint,
            "scopes": list(wanted.scopes),
        }
    return "~/.gemini/settings.json", _json({"mcpServers": {_NAME: server}})


def _goose(wanted: Wanted) -> tuple[str, str]:
    lines = ["extensions:", f"  {_NAME}:", "    enabled: true", "    type: streamable_http", f"    name: {_NAME}"]
    lines.append(f"    uri: {json.dumps(wanted.url)}")
    if wanted.client_id is None:
        return "~/.config/goose/config.yaml", "\n".join(lines)
    lines.append(f"    client_id: {json.dumps(wanted.client_id)}")
    return f"~/.config/goose/config.yaml, with GOOSE_OAUTH_CALLBACK_PORT={wanted.port}", "\n".join(lines)


def _opencode(wanted: Wanted) -> tuple[str, str]:
    oauth = {} if wanted.client_id is None else {"oauth": {"clientId": wanted.client_id}}
    return "opencode.json", _json({"mcp": {_NAME: {"type": "remote", "url": wanted.url, **oauth}}})


def _kiro(wanted: Wanted) -> tuple[str, str]:
    given = {"clientId": wanted.client_id, "redirectUri": wanted.callback}
    oauth = {} if wanted.client_id is None else {"oauth": given}
    return ".kiro/settings/mcp.json", _json({"mcpServers": {_NAME: {"url": wanted.url, **oauth}}})


def _windsurf(wanted: Wanted) -> tuple[str, str]:
    return "~/.codeium/windsurf/mcp_config.json", _json({"mcpServers": {_NAME: {"serverUrl": wanted.url}}})


def _inspector(wanted: Wanted) -> tuple[str, str]:
    oauth = {} if wanted.client_id is None else {"oauth": {"clientId": wanted.client_id}}
    server = {"type": "http", "url": wanted.url, "protocolEra": "auto", **oauth}
    return "~/.mcp-inspector/mcp.json, or its page", _json({"mcpServers": {_NAME: server}})


def _agentcore(wanted: Wanted) -> tuple[str, str]:
    place = "METADATA_URL" if wanted.issuer is None else wanted.issuer.at
    given = {"oauthDiscovery": {"discoveryUrl": place}, "clientId": wanted.client_id, "clientSecret": "CLIENT_SECRET"}
    text = json.dumps({"customOauth2ProviderConfig": given})
    lines = ["aws bedrock-agentcore-control create-oauth2-credential-provider", f"--name {_NAME}"]
    lines += ["--credential-provider-vendor CustomOauth2", f"--oauth2-provider-config-input '{text}'"]
    return "a shell; its answer has the callback", " \\\n  ".join(lines)


def _slackbot(wanted: Wanted) -> tuple[str, str]:
    return "its settings", f"MCP server URL: {wanted.url}\nClient ID: {wanted.client_id}\nClient secret: CLIENT_SECRET"


def _stepwire(wanted: Wanted) -> tuple[str, str]:
    given = "" if wanted.client_id is None else f" --client-id {wanted.client_id} --callback-port {wanted.port}"
    return "a shell", f"stepwire --url {wanted.url}{given} tools"


_HOSTS: Final[Mapping[str, Callable[[Wanted], tuple[str, str]]]] = {
    "claude": _claude,
    "claude-code": _claude_code,
    "chatgpt": _chatgpt,
    "vscode": _vscode,
    "cursor": _cursor,
    "codex": _codex,
    "gemini": _gemini,
    "goose": _goose,
    "opencode": _opencode,
    "kiro": _kiro,
    "windsurf": _windsurf,
    "inspector": _inspector,
    "agentcore": _agentcore,
    "slackbot": _slackbot,
    "stepwire": _stepwire,
}


def _json(value: object) -> str:
    return json.dumps(value, indent=2)
