"""docs/limits.md has the limits of a search, as they are in the code."""

from stepwire.extras import search
from stepwire.extras.search import search as searching
from tests.docs.pages import ROOT, page


def test_the_page_has_the_limits() -> None:
    (row,) = (one for one in page(ROOT / "docs" / "limits.md").text.splitlines() if one.startswith("| a [search for "))
    limits = (search.LONGEST_SEARCH, search.MOST_FOUND, searching.MOST_TERMS, searching.LARGEST_FOUND)

    assert [one for one in (*limits, searching.MOST_NAMED) if f" {one:,}" not in row] == []
