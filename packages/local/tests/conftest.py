"""Fixtures: the stack of the tests, and the simulated account without a stack, with all patches or without one."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from packages.local.tests.simulated import Account
from stepwire_local import LocalStack
from stepwire_local.account.engine import simulated_aws
from stepwire_local.lambdas import functions
from tests import waiting
from tests.waiting import PATIENT

DEFECT_SHOWS = 2.0  # seconds; longer than the time limits in the workflows of the proofs
# Stretch the timeouts of functions, so that no invocation fails because the machine is busy.
functions.timeout_scale = PATIENT
TEMPLATE = Path(__file__).parent / "stack" / "template.yaml"


@pytest.fixture(scope="module")
def stack() -> Iterator[LocalStack]:
    with LocalStack(TEMPLATE) as served:
        yield served


@pytest.fixture
def account(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    without = getattr(request, "param", ())
    if without:  # without its patch the test must fail, usually by a timeout: make that short
        monkeypatch.setattr(waiting, "HANG_GUARD", DEFECT_SHOWS)
    with simulated_aws(without=without):
        yield Account()


@pytest.fixture
def impatient_threads() -> Iterator[None]:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)
