"""Lines: a tool's limit of executions at once, and the order in which its callers' calls wait for a turn."""

from typing import Any, Final

from stepwire.hooks import Extra, ManifestFields


def _fields() -> ManifestFields[Any]:
    from stepwire.extras.lines.manifest import FIELDS

    return FIELDS


EXTRA: Final = Extra(name="lines", fields=_fields)
