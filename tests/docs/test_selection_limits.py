"""docs/limits.md has the limits of what a URL selects and of what a search answers, as they are in the code."""

from typing import Any

import pytest

from stepwire.manifests import manifest
from stepwire.protocol import http
from tests.docs.pages import ROOT, page

ROWS = page(ROOT / "docs" / "limits.md").text.splitlines()


@pytest.mark.parametrize(
    ("row", "module", "names"),
    [
        ("| [groups]", manifest, ("MOST_GROUPS",)),
        ("| tools and groups in a URL", http, ("MOST_NAMES", "LONGEST_QUERY", "_MOST_FIELDS")),
    ],
)
def test_the_page_has_the_limits(row: str, module: Any, names: tuple[str, ...]) -> None:
    (text,) = (one for one in ROWS if one.startswith(row))

    assert [name for name in names if f" {vars(module)[name]:,}" not in text] == []
