"""The policies of the examples' template allow exactly the AWS calls of its functions and workflows.

The local stack denies calls that are not allowed, in every test (conftest.py). Here each workflow uses all of its
permissions.
"""

from collections.abc import Iterator
from typing import Final

import pytest

from stepwire_local import LocalStack
from stepwire_local.iam.permissions import Call, Role, watched
from tests.examples.stacks import PENGUINS, execute, stack_with_bucket, store
from tests.grants import roles_of, unused

pytestmark = pytest.mark.long  # every workflow runs; each test is held to the policies, this looks for what none needs
REFUND: Final = {"order_id": "A-1002", "currency": "EUR", "reason": "It wobbles."}
UNREAD: Final = "every call is allowed"
"""In the notes of the local stack: what it says of a role whose policies it cannot evaluate."""


@pytest.fixture(scope="module")
def calls() -> list[Call]:
    """The calls of all roles."""
    return []


@pytest.fixture(scope="module")
def stack(calls: list[Call]) -> Iterator[LocalStack]:
    """Serve both stacks, with a bucket to profile from."""
    with watched(calls.append), stack_with_bucket() as made:
        yield made


def test_the_examples_use_every_permission_and_no_other(
    stack: LocalStack, calls: list[Call], refusals: list[str]
) -> None:
    assert execute(stack, {"s3_uri": store(stack, "penguins.csv", PENGUINS.read_bytes())}).status == "SUCCEEDED"
    assert execute(stack, {"message": "hello"}, stack.physical_ids["WaitAndEcho"]).status == "SUCCEEDED"
    refund = stack.physical_ids["ApproveRefund"]
    assert execute(stack, {**REFUND, "amount": "20.00"}, refund).status == "SUCCEEDED"
    ask_for_an_approval(stack, refund)

    roles = roles_of(stack.deployments[1])
    acting = {role.name for role in roles.values()}
    assert unused(roles, calls) == set()
    assert [call for call in calls if call.role in acting and not call.allowed] == []
    assert refusals == []
    assert [note for note in stack.not_served if UNREAD in note] == []
    assert {name for name, role in roles.items() if role.statements} == {
        "ApproveRefundRole",
        "ProfileColumnFunctionRole",
        "ProfileDatasetRole",
        "ReadDatasetFunctionRole",
    }


def ask_for_an_approval(stack: LocalStack, machine: str) -> None:
    """Start a refund that nobody waits for: its question is refused, and the workflow ends in words."""
    ended = execute(stack, {**REFUND, "amount": "249.00"}, machine)

    assert ended.output is not None
    assert ended.output["status"] == "not_asked"


def test_a_permission_that_no_example_needs_is_found(stack: LocalStack, calls: list[Call]) -> None:
    spare = Role("arn:aws:iam::123456789012:role/spare")
    spare.statements = roles_of(stack.deployments[1])["ApproveRefundRole"].statements

    found = unused({"Spare": spare}, calls)

    assert {grant.statement for grant in found} == {"ItsTwoFunctions", "AsksTheUser"}
