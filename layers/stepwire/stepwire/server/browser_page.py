"""The page for a person who opens the endpoint's URL in a browser: what the URL is for, and how to connect a client.

The rule: the page is a refusal (405), as every GET without a stream to resume is (L9). It has no script, loads nothing,
and names no tool, task or caller. Of the request it repeats only the host, if that is well-formed.
"""

import re
from collections.abc import Mapping
from typing import Final

from stepwire.protocol.http import HttpResponse

_HOST: Final = re.compile(r"[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?")
_HEADERS: Final = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}
_PAGE: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>An MCP server</title>
<style>
:root { color-scheme: light dark }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 44rem; margin: 3rem auto; padding: 0 1rem }
pre { overflow-x: auto; padding: .75rem; border: 1px solid #8888; border-radius: .4rem }
</style>
</head>
<body>
<h1>This is an MCP server</h1>
<p>It runs workflows as tools for AI agents, by the <a href="https://modelcontextprotocol.io">Model Context
Protocol</a>. A browser cannot call it: give its URL to an MCP client.</p>
<p>Claude Code, Gemini CLI:</p>
<pre>claude mcp add --transport http stepwire {url}
gemini mcp add --scope user --transport http stepwire {url}</pre>
<p>VS Code, in <code>.vscode/mcp.json</code>:</p>
<pre>{"servers": {"stepwire": {"type": "http", "url": "{url}"}}}</pre>
<p>Cursor, in <code>.cursor/mcp.json</code>:</p>
<pre>{"mcpServers": {"stepwire": {"url": "{url}"}}}</pre>
</body>
</html>
"""


def is_browser(headers: Mapping[str, str]) -> bool:
    """Tell whether a request asks for a page; MCP clients ask for JSON or events."""
    return "text/html" in headers.get("accept", "")


def page(asked: Mapping[str, str], refusal: Mapping[str, str]) -> HttpResponse:
    """Return the page with the URL at which it was asked for; `refusal` are the headers of the refusal."""
    host, scheme = asked.get("host", ""), asked.get("x-forwarded-proto", "https")
    url = f"{scheme}://{host}/mcp" if _HOST.fullmatch(host) and scheme in ("http", "https") else "URL"
    return HttpResponse(405, _PAGE.replace("{url}", url), {**_HEADERS, **refusal})
