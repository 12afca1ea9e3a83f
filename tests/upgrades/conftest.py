"""A simulated table, which the tests of one module share."""

from collections.abc import Iterator

import pytest

from tests.upgrades.recording import RecordedTable, simulated_table


@pytest.fixture(scope="module")
def table() -> Iterator[RecordedTable]:
    with simulated_table() as table:
        yield table
