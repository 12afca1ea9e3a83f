"""The simulated AWS account that the adapters are held against; nothing here reaches the real one."""

from collections.abc import Iterator

import pytest

from local.engine import shared_account


@pytest.fixture(scope="session")
def aws() -> Iterator[None]:
    with shared_account():
        yield
