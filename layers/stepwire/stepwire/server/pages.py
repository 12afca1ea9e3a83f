"""Pages of what has a URI, in the order of the URIs: a cursor names the last one, which may be gone meanwhile."""

from collections.abc import Iterable
from typing import Final

from stepwire.errors import InvalidCursor
from stepwire.json_text import JsonObject
from stepwire.protocol.tokens import cursor_text_in, next_cursor

PAGE_SIZE: Final = 100
_IN_URI: Final = "://"


def page_of(member: str, ones: Iterable[JsonObject], params: JsonObject) -> JsonObject:
    """Return the page behind the cursor as a member of a result, with the cursor of the next page, if there is one.

    Raises:
        InvalidCursor: it names no URI.
    """
    after = cursor_text_in(params)
    if after is not None and _IN_URI not in after:
        raise InvalidCursor
    left = sorted((one for one in ones if after is None or one["uri"] > after), key=lambda one: one["uri"])
    page = left[:PAGE_SIZE]
    return {member: page, **next_cursor(page[-1]["uri"] if len(left) > len(page) else None)}
