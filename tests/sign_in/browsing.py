"""A user's browser and a clock, for a library that signs in. Imported by `mcp_1` too, which runs without our code."""

import re
import time
from html import unescape
from urllib.parse import parse_qsl, urljoin, urlsplit

import httpx


class Clock:
    """What the library takes for the time: an hour more with each call, if the plan says `hours`."""

    def __init__(self) -> None:
        self.passed = 0.0  # seconds

    def time(self) -> float:
        """Return the seconds since 1970."""
        return time.time() + self.passed


class Browser:
    """A user agent that follows the redirect to the callback."""

    def __init__(self) -> None:
        self._came: dict[str, str] = {}

    async def open(self, url: str) -> None:
        """Open the authorization URL."""
        async with httpx.AsyncClient(trust_env=False) as agent:
            answer = await agent.get(url)
            if links := re.findall(r'href="([^"]+)"', answer.text):  # the issuer asks who it is
                answer = await agent.get(urljoin(url, unescape(links[0])))
        assert answer.is_redirect, answer.text
        self._came = dict(parse_qsl(urlsplit(answer.headers["location"]).query))

    def callback(self) -> dict[str, str]:
        """Return what the callback got.

        Raises:
            PermissionError: the issuer refused; the message is its error.
        """
        if "error" in self._came:
            raise PermissionError(self._came["error"])
        return self._came


def innermost(error: BaseException) -> str:
    """Return the type and the text of an error that may be in groups."""
    inner: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    return innermost(inner[0]) if inner else f"{type(error).__name__}: {error}"
