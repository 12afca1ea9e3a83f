"""The page of performance has the sizes of the lists of tools as they are now."""

import pytest

from benchmarks.lists import sizes_table
from benchmarks.page import PAGE


@pytest.mark.long
def test_the_page_has_what_a_client_is_listed() -> None:
    assert sizes_table() in PAGE.read_text(encoding="utf-8")
