"""Who may use the console: the pages that it served itself, and programs on this machine.

Pure. The rules, the first that fails counts: 1. the request names this machine as its host, which stops DNS rebinding;
2. a browser says that it comes from a page of the same origin, or that the address was typed or a link was followed to
the page itself; 3. a change (POST) names the same origin and has the console's own header, which no page elsewhere can
send.
"""

from collections.abc import Mapping
from typing import Final

from stepwire_local.gateway.loopback import is_loopback

HEADER: Final = "x-stepwire-console"


def refusal(method: str, headers: Mapping[str, str], *, is_page: bool) -> str | None:
    """Return why a request is refused; None if it may go on."""
    host, origin, site = headers.get("host", ""), headers.get("origin"), headers.get("sec-fetch-site")
    is_elsewhere = not is_page and site not in (None, "same-origin", "none")
    is_ours = origin is not None and headers.get(HEADER) == "1"
    rungs = (
        (not is_loopback(host), "The request names another host."),
        (origin not in (None, f"http://{host}") or is_elsewhere, "The request comes from a page elsewhere."),
        (method not in ("GET", "POST"), "Only GET and POST are served."),
        (method == "POST" and not is_ours, f"A POST needs the header origin, of this page, and {HEADER}: 1."),
    )
    return next((why for fails, why in rungs if fails), None)
