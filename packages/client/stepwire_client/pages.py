"""Lists that come in pages, read to their end. The rule: a list has a largest size, whatever its server says."""

from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeVar

import anyio

from stepwire_client.errors import NotUnderstood

MOST_PAGES: Final = 1_000
LARGEST: Final = 16_000_000
"""Characters of all pages together, as Python shows them."""
LONGEST: Final = 60.0
"""Seconds for all pages."""


class Page(Protocol):
    """A page of a list."""

    @property
    def next_cursor(self) -> str | None:
        """Names the next page; None on the last."""
        ...


P = TypeVar("P", bound=Page)


async def all_pages(fetch: Callable[[str | None], Awaitable[P]]) -> list[P]:
    """Return the pages of a list, the first without a cursor.

    Raises:
        NotUnderstood: the list is too long, too large or too slow to be one.
    """
    room, until = LARGEST, anyio.current_time() + LONGEST
    page = await fetch(None)
    pages = [page]
    while (room := room - len(repr(page))) >= 0 and page.next_cursor is not None:
        if len(pages) == MOST_PAGES:
            raise NotUnderstood(f"The server's list does not end: it has more than {MOST_PAGES} pages.")
        if anyio.current_time() > until:
            raise NotUnderstood(f"The server's list does not end within {LONGEST:g} s.")
        page = await fetch(page.next_cursor)
        pages.append(page)
    if room < 0:
        raise NotUnderstood(f"The server's list has more than {LARGEST // 1_000_000} MB.")
    return pages
