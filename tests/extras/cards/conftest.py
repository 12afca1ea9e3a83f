"""The host of MCP Apps that the tests of a module share: a browser starts slowly, a page in it does not."""

from collections.abc import Iterator

import pytest

from tests.extras.cards.host import Card, card_host


@pytest.fixture(scope="module")
def card() -> Iterator[Card]:
    """A host; each test opens a card of its own."""
    with card_host() as card:
        yield card
