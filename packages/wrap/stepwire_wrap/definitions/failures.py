"""How much of a failure's cause a manifest lets callers read: judged by past failures and by the definition."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from stepwire.json_text import JsonObject
from stepwire.manifests.definitions import states_in

_TRACE: Final = re.compile(r"Traceback|stackTrace|\bat [\w.$<>]+\(|File \\?\"/", re.IGNORECASE)


@dataclass(frozen=True)
class Failure:
    """How a run failed."""

    error: str
    cause: str


@dataclass(frozen=True)
class ShowErrors:
    """The manifest's `show_errors`, and why it is so."""

    value: str | None
    """None: the field is left out, so that causes are shown without ARNs and account numbers."""
    why: str


def show_errors_of(definition: JsonObject, failures: Iterable[Failure]) -> ShowErrors:
    """Return how much of a cause callers should read."""
    seen = list(failures)
    written = {
        str(one.state["Error"])
        for one in states_in(definition)
        if one.state.get("Type") == "Fail" and "Error" in one.state
    }
    if any(_TRACE.search(one.cause) for one in seen):
        return ShowErrors("names", "causes of past failures had stack traces")
    if seen and all(one.error in written for one in seen):
        return ShowErrors("causes", f"all of {len(seen)} past failures have an error that the definition names")
    return ShowErrors(None, "")
