"""A caller at its limits changes no AWS call of another caller's requests."""

from collections.abc import Iterator

import pytest

from stepwire_local.account.engine import shared_account
from tests.server.neighbours import Noise, Stack


@pytest.fixture(scope="module", autouse=True)
def aws() -> Iterator[None]:
    """The simulated account."""
    with shared_account():
        yield


@pytest.mark.long
def test_a_caller_at_every_limit_changes_no_call_of_another() -> None:
    quiet, noisy = Stack(Noise.NONE), Stack(Noise.HERE)

    alone = [(one.request, one.calls) for one in quiet.run_round()]
    beside = [(one.request, one.calls) for one in noisy.run_round()]

    assert all(calls for _, calls in alone)
    assert beside == alone
