"""The simulated AWS account that the adapters are held against; nothing here reaches the real one.

Each module opens it and closes it again: other tests want to see that it is closed.
"""

from collections.abc import Iterator

import pytest

from local.engine import shared_account


@pytest.fixture(scope="module")
def aws() -> Iterator[None]:
    with shared_account():
        yield
