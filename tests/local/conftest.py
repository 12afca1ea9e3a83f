"""The stack of the tests, served; and the simulated account without a stack, with or without a patch."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from local import LocalStack
from local.engine import simulated_aws
from tests.local.simulated import Account

TEMPLATE = Path(__file__).parent / "stack" / "template.yaml"


@pytest.fixture(scope="module")
def stack() -> Iterator[LocalStack]:
    with LocalStack(TEMPLATE) as served:
        yield served


@pytest.fixture
def account(request: pytest.FixtureRequest) -> Iterator[Account]:
    with simulated_aws(without=getattr(request, "param", ())):
        yield Account()


@pytest.fixture
def impatient_threads() -> Iterator[None]:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)
