"""The name of a tool, and its first description, from what the owner of a state machine has written."""

import hashlib
import re
from collections.abc import Iterable
from typing import Final

from stepwire.catalog.tools import NAME_PATTERN, OWN_TOOLS
from stepwire.json_text import JsonObject, as_object

_LONGEST_NAME: Final = 64  # many clients take no more
_LONGEST_DESCRIPTION: Final = 1_000
_SUFFIX: Final = re.compile(r"-(?=[A-Za-z0-9]*\d)(?=[A-Za-z0-9]*[A-Z])[A-Za-z0-9]{12,13}$")
_WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MOST_STATES: Final = 8


def tool_name(machine: str, taken: Iterable[str] = ()) -> str:
    """Return a name for the tool of a state machine, which no other one has.

    Args:
        machine: name of the state machine; what CloudFormation has put behind it is left out.
        taken: names that are not free.
    """
    words = _WORDS.sub("_", _SUFFIX.sub("", machine))
    name = re.sub(r"_+", "_", re.sub(r"[^A-Za-z0-9]+", "_", words)).strip("_").lower()[:_LONGEST_NAME]
    if not NAME_PATTERN.fullmatch(name):
        name = f"workflow_{hashlib.blake2b(machine.encode(), digest_size=4).hexdigest()}"
    used = {*taken, *OWN_TOOLS}
    numbered = (name if number == 1 else f"{name[: _LONGEST_NAME - 4]}_{number}" for number in range(1, len(used) + 2))
    return next(one for one in numbered if one not in used)


def description_of(machine: str, definition: JsonObject) -> str:
    """Return what the definition's author wrote; else the names of its states."""
    comment = definition.get("Comment")
    if isinstance(comment, str) and comment.strip():
        return " ".join(comment.split())[:_LONGEST_DESCRIPTION]
    states = list(as_object(definition.get("States")))
    more = f" and {len(states) - _MOST_STATES} more" if len(states) > _MOST_STATES else ""
    return f"Runs the workflow {machine}: {', '.join(states[:_MOST_STATES])}{more}."[:_LONGEST_DESCRIPTION]
