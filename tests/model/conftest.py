"""One simulated account for all runs; each run leaves its table empty."""

from collections.abc import Iterator

import pytest

from tests.model.machine import Machine
from tests.model.stack import simulated_account


@pytest.fixture(scope="module", autouse=True)
def account() -> Iterator[None]:
    with simulated_account() as account:
        Machine.account = account
        yield
