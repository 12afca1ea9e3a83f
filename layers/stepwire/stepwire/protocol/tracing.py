"""The trace that a request belongs to: W3C's traceparent in `_meta` (M29), as AWS X-Ray writes it."""

import re
from typing import Final

from stepwire.json_text import JsonObject, as_object

_TRACEPARENT: Final = re.compile(r"00-([0-9a-f]{8})([0-9a-f]{24})-([0-9a-f]{16})-([0-9a-f]{2})")
_NOTHING: Final = re.compile("0+")


def trace_header_of(params: JsonObject) -> str | None:
    """Give the trace header for what a request starts; None where it names no trace, or none that is valid."""
    traceparent = as_object(params.get("_meta")).get("traceparent")
    found = _TRACEPARENT.fullmatch(traceparent) if isinstance(traceparent, str) else None
    if found is None or _NOTHING.fullmatch(found[1] + found[2]) or _NOTHING.fullmatch(found[3]):
        return None
    return f"Root=1-{found[1]}-{found[2]};Parent={found[3]};Sampled={int(found[4], 16) & 1}"
