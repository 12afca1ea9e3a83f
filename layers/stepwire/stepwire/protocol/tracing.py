"""The trace context of a request: from W3C's traceparent in `_meta` (M29) to the trace header of AWS X-Ray."""

import re
from typing import Final

from stepwire.json_text import JsonObject, as_object

_TRACEPARENT: Final = re.compile(r"00-([0-9a-f]{8})([0-9a-f]{24})-([0-9a-f]{16})-([0-9a-f]{2})")
_ZEROS: Final = re.compile("0+")


def trace_header_of(params: JsonObject) -> str | None:
    """Return the X-Ray trace header for the execution that a request starts; None without a valid traceparent."""
    traceparent = as_object(params.get("_meta")).get("traceparent")
    found = _TRACEPARENT.fullmatch(traceparent) if isinstance(traceparent, str) else None
    if found is None or _ZEROS.fullmatch(found[1] + found[2]) or _ZEROS.fullmatch(found[3]):
        return None
    return f"Root=1-{found[1]}-{found[2]};Parent={found[3]};Sampled={int(found[4], 16) & 1}"
