"""State machines of type EXPRESS behave as in AWS, thanks to the patches of moto."""

import json
from itertools import count

import pytest

from packages.local.tests.proving import PASS, proof
from packages.local.tests.simulated import ROLE, Account

# Why long: they prove that moto needs its patches, which only a change of moto or of a patch can change.
pytestmark = pytest.mark.long

_numbers = count(1)


def express(account: Account) -> str:
    definition = json.dumps({"StartAt": "S", "States": {"S": {**PASS, "End": True}}})
    made = account.workflows.create_state_machine(
        name=f"express-{next(_numbers)}", definition=definition, roleArn=ROLE, type="EXPRESS"
    )
    return made["stateMachineArn"]


@proof("express_executions_can_be_waited_for")
def test_an_execution_can_be_waited_for(account: Account) -> None:
    ended = account.workflows.start_sync_execution(stateMachineArn=express(account), name="a", input='{"a": 1}')

    assert (ended["status"], ended["output"], ended["name"]) == ("SUCCEEDED", '{"a":1}', "a")
    assert ":express:" in ended["executionArn"]


@proof("express_executions_are_their_own")
def test_an_execution_cannot_be_described_or_stopped_and_starts_anew_each_time(account: Account) -> None:
    machine = express(account)

    first, second = (account.start(machine, name="a") for _ in range(2))

    assert first != second
    assert ":express:" in first
    with pytest.raises(account.workflows.exceptions.InvalidArn):
        account.describe(first)
