"""The simulated AWS account that the adapters are held against; nothing here reaches the real one.

Each module opens it and closes it again: other tests want to see that it is closed.
"""

from collections.abc import Iterator

import pytest

from local.account.engine import shared_account
from local.lambdas import functions
from tests.waiting import PATIENT

# A second of a function's Timeout lasts longer here: how busy a machine is fails no invocation.
functions.timeout_scale = PATIENT


@pytest.fixture(scope="module")
def aws() -> Iterator[None]:
    with shared_account():
        yield
