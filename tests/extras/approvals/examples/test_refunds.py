"""The refund example's manifest with approvers: whom the questions are for, and from which amount on."""

from typing import Any, Final

import pytest

from stepwire.extras.approvals.rules import Approvers
from stepwire.manifests.model import manifest_model
from stepwire_local.cloudformation.template import parse
from tests.examples.stacks import EXAMPLES, function_alone, manifest_of

Json = dict[str, Any]
EVENT: Final = '{"order_id": "A-1003", "amount": "%s", "currency": "EUR", "reason": "A leg is short."}'


@pytest.fixture
def manifest() -> Json:
    """Read the tool's manifest."""
    return manifest_of("approve_refund")


def test_only_the_question_for_finance_is_for_others_than_the_caller(manifest: Json) -> None:
    named: Json = {**manifest, "state_machine": "ApproveRefund"}
    named["approvers"] = {**manifest["approvers"], "claim": "cognito:groups"}

    policy = manifest_model().model_validate(named).tool().kept_by("approvals", Approvers)

    assert policy is not None
    assert (policy.is_for("finance"), policy.is_for("approval")) == (True, False)
    assert (policy.audience.shown, policy.includes_caller, policy.shows_decision) == ("finance", False, True)


@pytest.mark.parametrize(("more", "verdict"), [("0.00", "ask"), ("0.01", "ask_finance")])
def test_finance_is_asked_above_the_limit_that_the_manifest_states(manifest: Json, more: str, verdict: str) -> None:
    function = parse(EXAMPLES)["Resources"]["CheckRefundFunction"]["Properties"]
    limit: str = function["Environment"]["Variables"]["WITHOUT_FINANCE"]
    event = EVENT % f"{float(limit) + float(more):.2f}"

    outcome = function_alone("CheckRefundFunction", WITHOUT_FINANCE=limit).invoke(event)

    assert f"Above {limit}, somebody of finance is asked" in manifest["input_schema"]["description"]
    assert f'"verdict": "{verdict}"' in outcome.payload
