"""The simulated AWS account that the adapters are held against; nothing here reaches the real one.

Each module opens it and closes it again: other tests want to see that it is closed.
"""

from collections.abc import Callable, Iterator

import pytest

from local.account.engine import shared_account
from local.lambdas import functions
from stepwire.engine.ports import TaskStore
from tests.contracts.task_stores import in_memory, on_dynamodb, on_dynamodb_without_http
from tests.waiting import PATIENT

# A second of a function's Timeout lasts longer here: how busy a machine is fails no invocation.
functions.timeout_scale = PATIENT


@pytest.fixture(scope="module")
def aws() -> Iterator[None]:
    with shared_account():
        yield


@pytest.fixture(params=[in_memory, on_dynamodb, on_dynamodb_without_http])
def store(request: pytest.FixtureRequest, aws: None) -> TaskStore:
    build: Callable[[], TaskStore] = request.param
    return build()
