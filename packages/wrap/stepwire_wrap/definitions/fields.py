"""What later states read of the result of a state that waits for a person: the fields of a form. Pure."""

import re
from dataclasses import dataclass
from typing import Final

from stepwire.json_text import JsonObject
from stepwire_wrap.definitions.messages import quoted
from stepwire_wrap.definitions.values import Path

NEGATIVE: Final = re.compile(r"reject(ed)?|den(y|ied)|declined?|no|cancel(l?ed)?|delete", re.IGNORECASE)
"""Words that say no."""


@dataclass(frozen=True)
class Field:
    """What later states read of the result."""

    name: str
    path: Path
    """Where they read it."""
    schema: JsonObject
    """Of the form's field."""
    sent: str = ""
    """Expression of what the old state sent under this name, to get it back; empty: the user is asked."""
    agreed: str = ""
    """Expression of its value if others approve, whose decision it is; empty: it is not their decision."""
    unheard: tuple[str, ...] = ()
    """What of it nobody can answer any more."""

    @property
    def is_asked(self) -> bool:
        """Whether the form has it."""
        return not self.sent and not self.agreed


def no_of(field: Field) -> str | None:
    """Return the expression for no; None if the field has no such value."""
    if field.sent:
        return None
    if field.schema["type"] == "boolean":
        return "false"
    word = next((one for one in field.schema.get("enum", ()) if NEGATIVE.fullmatch(one)), None)
    return None if word is None else quoted(word)
