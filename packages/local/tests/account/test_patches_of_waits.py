"""A Wait state, and the interval of a retry, takes no longer than the limit of its state machine."""

import pytest

from packages.local.tests.proving import PASS, WAIT, proof
from packages.local.tests.simulated import Account
from stepwire_local.account.moto_patches.waits import shorten

# Why long: it proves that moto needs its patch, which only a change of moto or of the patch can change.
pytestmark = pytest.mark.long


@proof("waits_can_be_shortened")
def test_a_wait_is_as_long_as_its_limit(account: Account) -> None:
    inner = {"StartAt": "Wait", "States": {"Wait": {**WAIT, "End": True}}}
    both = {"Type": "Parallel", "Branches": [inner, inner]}
    machine = account.machine(PASS, WAIT, both)
    shorten(machine, 0.01)

    described = account.ended(account.start(machine))

    assert described["status"] == "SUCCEEDED"


@proof("retries_can_be_shortened")
def test_the_interval_of_a_retry_is_as_long_as_its_limit(account: Account) -> None:
    again = {"ErrorEquals": ["States.ALL"], "IntervalSeconds": 60, "MaxAttempts": 2, "JitterStrategy": "FULL"}
    nowhere = {"StartAt": "Fail", "States": {"Fail": {"Type": "Fail", "Error": "Always"}}}
    machine = account.machine({"Type": "Parallel", "Branches": [nowhere], "Retry": [again]})
    shorten(machine, 0.01)

    described = account.ended(account.start(machine))

    assert (described["status"], described["error"]) == ("FAILED", "Always")
