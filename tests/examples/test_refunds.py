"""The rules of refunds, and the functions that apply them."""

import re
from datetime import timedelta
from typing import Any

import pytest
import yaml
from pydantic import TypeAdapter

from examples.approve_refund.refunds import rules
from examples.approve_refund.refunds.money import amount_of, cents_of, whole_cents_of
from examples.approve_refund.refunds.orders import find_order
from examples.approve_refund.refunds.rules import Verdict, decide
from tests.examples.stacks import ROOT, manifest_of

Json = dict[str, Any]


class TestMoney:
    @pytest.mark.parametrize(("text", "cents"), [("0.00", 0), ("0.01", 1), ("49.90", 4990), ("9999999.99", 999999999)])
    def test_an_amount_is_read_and_written_unchanged(self, text: str, cents: int) -> None:
        assert cents_of(text) == cents
        assert amount_of(cents) == text

    @pytest.mark.parametrize(
        "text", ["", "1", "1.5", "1.505", "01.00", "-1.00", "1e2", "1,00", " 1.00", "1.00\n", "\u0661.\u0660\u0660"]
    )
    def test_an_invalid_amount_is_refused(self, text: str) -> None:
        with pytest.raises(ValueError, match="two decimals"):
            cents_of(text)

    @pytest.mark.parametrize(
        ("number", "cents"), [(49.9, 4990), (0.29, 29), (1.1, 110), (33.339, 3333), (0.009, 0), (100, 10000), (1e-7, 0)]
    )
    def test_a_users_amount_is_rounded_down_to_cents(self, number: float, cents: int) -> None:
        assert whole_cents_of(number) == cents


class TestDecisions:
    @pytest.mark.parametrize(
        ("cents", "verdict"),
        [
            (rules.WITHOUT_ASKING, Verdict.REFUND),
            (rules.WITHOUT_ASKING + 1, Verdict.ASK),
            (rules.AT_MOST, Verdict.ASK),
            (rules.AT_MOST + 1, Verdict.REFUSE),
        ],
    )
    def test_the_limits_are_exact(self, cents: int, verdict: Verdict) -> None:
        assert decide(find_order("A-1003"), cents, "EUR").verdict is verdict

    @pytest.mark.parametrize(
        ("cents", "verdict"),
        [
            (rules.WITHOUT_ASKING, Verdict.REFUND),
            (500_00, Verdict.ASK),
            (500_01, Verdict.ASK_FINANCE),
            (rules.AT_MOST, Verdict.ASK_FINANCE),
            (rules.AT_MOST + 1, Verdict.REFUSE),
        ],
    )
    def test_above_a_limit_of_its_own_finance_is_asked(self, cents: int, verdict: Verdict) -> None:
        assert decide(find_order("A-1003"), cents, "EUR", 500_00).verdict is verdict

    @pytest.mark.parametrize(
        ("order_id", "cents", "currency", "words"),
        [
            ("A-9999", 1, "EUR", "no such order"),
            ("A-1004", 1, "EUR", "paid in USD, not in EUR"),
            ("A-1001", 0, "EUR", "Nothing"),
            ("A-1001", 34_91, "EUR", r"more than the 34\.90 EUR"),
            ("A-1003", 1_890_00, "EUR", r"At most 1000\.00 EUR"),
        ],
    )
    def test_a_refusal_says_what_is_wrong(self, order_id: str, cents: int, currency: str, words: str) -> None:
        decision = decide(find_order(order_id), cents, currency)

        assert decision.verdict is Verdict.REFUSE
        assert re.search(words, decision.explanation)

    def test_the_whole_payment_can_be_refunded(self) -> None:
        assert decide(find_order("A-1001"), 34_90, "EUR").verdict is Verdict.REFUND


@pytest.fixture
def manifest() -> Json:
    """Read the tool's manifest."""
    return manifest_of("approve_refund")


def test_the_manifest_states_the_limits_and_orders_of_the_code(manifest: Json) -> None:
    told: str = manifest["description"]

    for limit in (rules.WITHOUT_ASKING, rules.AT_MOST):
        assert amount_of(limit) in told
    for order in filter(None, (find_order(f"A-{number}") for number in range(1000, 1010))):
        assert f"{order.order_id} ({amount_of(order.paid)} {order.currency})" in told


def test_an_answer_is_waited_for_as_long_as_the_manifest_says_and_no_longer_than_the_task_is_kept(
    manifest: Json,
) -> None:
    workflow = yaml.safe_load((ROOT / "examples/workflows/approve_refund.asl.yaml").read_text())
    waiting = manifest["input_schema"]["properties"]["answer_within_seconds"]

    kept_for = TypeAdapter(timedelta).validate_python(manifest["ttl"])

    assert f": {waiting['default']} %" in workflow["States"]["CheckRefund"]["Assign"]["seconds"]
    assert timedelta(seconds=waiting["maximum"]) < kept_for
