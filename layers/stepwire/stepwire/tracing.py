"""The W3C trace of a request, and which trace this process works for now.

A caller sends it in `_meta` (SEP-414). What W3C does not allow is ignored as if it were not there, and never refused.
`baggage` is free text of the caller: it is neither read nor kept, logged or passed on.
"""

import re
from threading import local
from typing import Final

from msgspec import Struct

from stepwire.json_text import Json, JsonObject

LONGEST_PARENT: Final = 256  # characters; a version after 00 may add to its 55
LONGEST_STATE: Final = 512  # characters; W3C: at least so many should be passed on, and more need not be
_MOST_VENDORS: Final = 32
# Texts, so that they are compiled when the first trace comes, which few callers send.
_PARENT: Final = "(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-[!-~]*)?"
_RANDOM_AND_SAMPLED: Final = 3  # the flags that W3C defines; others are reserved
_VENDOR: Final = (
    "([a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13}|[a-z0-9][a-z0-9_*/-]{0,255})"
    "=[ -+\\--<>-~]{0,255}[!-+\\--<>-~]"
)


class Trace(Struct, frozen=True, omit_defaults=True):
    """What a request continues."""

    parent: str
    """A valid `traceparent` of version 00."""
    state: str = ""
    """A valid `tracestate`; empty: none."""

    @property
    def id(self) -> str:
        """The id that all parts of the trace have in common."""
        return self.parent[3:35]

    @property
    def span_id(self) -> str:
        """The id of the part that continues below this."""
        return self.parent[36:52]

    @property
    def is_sampled(self) -> bool:
        """Tell whether who sent it records it."""
        return bool(int(self.parent[53:], 16) & 1)

    def with_span(self, span_id: str) -> "Trace":
        """Return the same trace, at a part that is below this one."""
        return Trace(f"{self.parent[:36]}{span_id}{self.parent[52:]}", self.state)

    @property
    def context(self) -> JsonObject:
        """What continues the trace: members of `_meta`, or HTTP headers."""
        return {"traceparent": self.parent, **({"tracestate": self.state} if self.state else {})}

    @property
    def x_ray_header(self) -> str:
        """The trace as an AWS X-Ray header."""
        return f"Root=1-{self.id[:8]}-{self.id[8:]};Parent={self.span_id};Sampled={int(self.is_sampled)}"


def trace_of(meta: JsonObject) -> Trace | None:
    """Return the trace in the `_meta` of a request; None without a valid traceparent."""
    sent = meta.get("traceparent")
    found = re.fullmatch(_PARENT, sent) if isinstance(sent, str) and len(sent) <= LONGEST_PARENT else None
    if found is None or (found[1] == "00" and found[5] is not None):
        return None
    # A later version is read as far as version 00 goes, and continued as version 00.
    flags = int(found[4], 16) & _RANDOM_AND_SAMPLED
    return Trace(f"00-{found[2]}-{found[3]}-{flags:02x}", _state_of(meta.get("tracestate")))


def _state_of(sent: Json) -> str:
    """Return a valid tracestate; empty if any of it is not."""
    if not isinstance(sent, str) or len(sent) > LONGEST_STATE:
        return ""
    members = [one for part in sent.split(",") if (one := part.strip(" \t"))]
    valid = [found[1] for one in members if (found := re.fullmatch(_VENDOR, one))]
    return ",".join(members) if len(members) == len(set(valid)) <= _MOST_VENDORS else ""


class _Work(local):
    """What a thread works for. Not a context variable: that module takes longer to load than all of this one."""

    trace: Trace | None = None


_WORK: Final = _Work()


def follow(trace: Trace | None) -> None:
    """Let what this thread does from now on belong to a trace; None: to none."""
    _WORK.trace = trace


def follow_unless_another(trace: Trace) -> None:
    """Let what this thread does from now on belong to a trace, unless it belongs to one already."""
    if _WORK.trace is None:
        _WORK.trace = trace


def followed() -> Trace | None:
    """Return the trace that this thread works for."""
    return _WORK.trace
