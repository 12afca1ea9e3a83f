"""What the suite shares: patience, the time of a stack, and a client of the stack that a file has."""

import pytest

from stepwire_local.lambdas import functions
from tests.integration.clock import Clock
from tests.integration.stacks import Deployed
from tests.server.clients import ModernClient
from tests.waiting import PATIENT

# Stretch the timeouts of functions, so that no invocation fails because the machine is busy.
functions.timeout_scale = PATIENT


@pytest.fixture(scope="module")
def clock() -> Clock:
    """The time of the handlers and workflows of a stack, which only tests move."""
    return Clock()


@pytest.fixture
def modern(stack: Deployed) -> ModernClient:
    """A client of 2026-07-28 with tasks."""
    return ModernClient(stack)
