"""CORS of an API Gateway HTTP API that has a CorsConfiguration.

The rule: only the configuration decides; CORS headers of a function are dropped. Pure. The source is the API Gateway
developer guide, "Configure CORS for HTTP APIs". It promises CORS headers for integration responses only, so API
Gateway's own responses (401, 403, 404) have none here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

Headers = Sequence[tuple[str, str]]

_PREFIX = "access-control-"


@dataclass(frozen=True)
class Cors:
    """A CorsConfiguration."""

    origins: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    exposed: tuple[str, ...] = ()
    credentials: bool = False
    max_age: int | None = None  # seconds

    def allows(self, origin: str) -> bool:
        """Return whether pages of an origin may call; `*`, `http://*` and `https://*` are patterns."""
        given = origin.lower()
        return any(_matches(known.lower(), given) for known in self.origins)


def _matches(known: str, origin: str) -> bool:
    if known in ("*", "http://*", "https://*"):
        return origin.startswith(known.removesuffix("*"))
    return origin == known


def is_preflight(method: str, headers: Headers) -> bool:
    """Return whether a request is a CORS preflight."""
    return method == "OPTIONS" and bool(_value(headers, "origin") and _value(headers, "access-control-request-method"))


def preflight(cors: Cors, asked: Headers) -> Headers:
    """Return the response headers of a preflight; none if the page's origin is not allowed."""
    origin = _value(asked, "origin")
    if not cors.allows(origin):
        return ()
    lists = (("methods", cors.methods), ("headers", cors.headers))
    listed = [(f"{_PREFIX}allow-{name}", ",".join(values)) for name, values in lists if values]
    age = [(f"{_PREFIX}max-age", str(cors.max_age))] if cors.max_age is not None else []
    return (*_for_origin(cors, origin), *listed, *age)


def of_response(cors: Cors, asked: Headers, answered: Headers) -> Headers:
    """Return the headers of a response: the function's own, with the configured CORS headers in place of its."""
    kept = [(name, value) for name, value in answered if not name.lower().startswith(_PREFIX)]
    origin = _value(asked, "origin")
    return (*kept, *_for_origin(cors, origin)) if origin and cors.allows(origin) else kept


def _for_origin(cors: Cors, origin: str) -> Headers:
    named = [(f"{_PREFIX}allow-origin", "*" if "*" in cors.origins else origin)]
    if cors.credentials:
        named.append((f"{_PREFIX}allow-credentials", "true"))
    if cors.exposed:
        named.append((f"{_PREFIX}expose-headers", ",".join(cors.exposed)))
    return named


def _value(headers: Headers, wanted: str) -> str:
    return next((value for name, value in headers if name.lower() == wanted), "")
