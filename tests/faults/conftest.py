"""One simulated account for all cases; each case has its own stack in it."""

from collections.abc import Iterator

import pytest

from tests.faults.site import Account, simulated_account


@pytest.fixture(scope="module")
def account() -> Iterator[Account]:
    with simulated_account() as account:
        yield account
