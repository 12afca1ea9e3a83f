"""The page for a person who opens the endpoint's URL in a browser: what the URL is for, and how to connect a client.

The rule: the page is a refusal (405), as every GET without a stream to resume is (L9). It loads nothing, and names no
tool, task or caller; its only script copies a text, and its digest admits it. Of the request it repeats only the host,
if that is well-formed. It looks like the console of the local stack, and links to it on this machine.
"""

import base64
import hashlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from stepwire.protocol.http import HttpResponse

_HOST: Final = re.compile(r"[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?")
_ON_THIS_MACHINE: Final = re.compile(r"(localhost|127\.0\.0\.1)(:[0-9]+)?")
_CONSOLE: Final = '<p>On this machine, try its tools in <a href="/console/">the console of the local stack</a>.</p>'
_PLACE: Final = "<!--console-->"


def is_browser(headers: Mapping[str, str]) -> bool:
    """Tell whether a request asks for a page; MCP clients ask for JSON or events."""
    return "text/html" in headers.get("accept", "")


def page(asked: Mapping[str, str], refusal: Mapping[str, str]) -> HttpResponse:
    """Return the page with the URL at which it was asked for; `refusal` are the headers of the refusal."""
    host, scheme = asked.get("host", ""), asked.get("x-forwarded-proto", "https")
    url = f"{scheme}://{host}/mcp" if _HOST.fullmatch(host) and scheme in ("http", "https") else "URL"
    console = _CONSOLE if _ON_THIS_MACHINE.fullmatch(host) else ""
    return HttpResponse(405, _text().replace("{url}", url).replace(_PLACE, console), {**_headers(), **refusal})


@cache
def _text() -> str:
    return Path(__file__).with_suffix(".html").read_text(encoding="utf-8")


@cache
def _headers() -> Mapping[str, str]:
    policy = (
        f"default-src 'none'; style-src {_digest('style')}; script-src {_digest('script')}; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    )
    return {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": policy,
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
    }


def _digest(tag: str) -> str:
    """Return the digest of the page's only element with a tag, as a policy names it. No URL is in it."""
    inside = _text().partition(f"<{tag}>")[2].partition(f"</{tag}>")[0]
    return f"'sha256-{base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()}'"
