"""Questions to others in the console, in a real Chromium: a second person decides them by clicks."""

from collections.abc import Iterator
from typing import Any

import pytest

from stepwire_local import LocalStack
from tests.browser.chromium import needs_chromium
from tests.examples.test_console_page import ROOT, seen, served

pytestmark = [pytest.mark.long, needs_chromium]

LARGE_REFUND = [
    ["order_id", "A-1003"],
    ["amount", "890.00"],
    ["currency", {"option": "EUR"}],
    ["reason", "A leg is short."],
]


@pytest.fixture(scope="module")
def stack() -> Iterator[LocalStack]:
    yield from served(ROOT / "examples/template.yaml", ApprovalLinks="link")


def test_a_second_person_in_the_console_decides_what_is_not_the_callers(stack: LocalStack) -> None:
    steps: list[list[Any]] = [
        ["start", "Refund an order", LARGE_REFUND],
        ["status", "waits for finance"],
        ["open", "#/approvals"],
        ["axe"],
        ["size", 1360, 900, "dark"],
        ["axe"],
        ["size", 320, 700, "light"],
        ["axe"],
        ["decide", "Bob", "Approve"],
        ["open", "#/approvals"],
        ["axe"],
    ]

    found = seen(stack, steps)

    assert [found[index] for index in (3, 5, 7, 10)] == [[]] * 4, "what axe found"
    assert [found[index] for index in (4, 6)] == [False] * 2, "whether it is wider than the window"
    decided = found[8]
    assert "Refund 890.00 EUR for order A-1003 (Standing desk)?" in decided["shown"]
    assert "A leg is short." in decided["shown"]
    assert "Dismiss" not in decided["shown"]
    assert decided["said"].startswith("Bob of finance approved, ")


def test_a_form_whose_question_is_decided_on_its_page_goes_and_the_console_says_how(stack: LocalStack) -> None:
    steps: list[list[Any]] = [
        ["start", "Refund an order", LARGE_REFUND],
        ["status", "waits for finance"],
        ["open", "#/approvals"],
        ["decided_on_the_page"],
    ]

    found = seen(stack, steps)

    assert found[3] == "Refund an order: It was decided on the page: approved, amount = 890."


def test_what_changes_on_the_page_takes_nothing_from_whoever_decides(stack: LocalStack) -> None:
    steps: list[list[Any]] = [
        ["start", "Refund an order", LARGE_REFUND],
        ["status", "waits for finance"],
        ["open", "#/approvals"],
        ["undisturbed", "Bob"],
        ["decide", "Bob", "Approve"],
    ]

    found = seen(stack, steps)

    written, counted = found[3]
    assert written == "Half a sentence"
    assert "1 of 2 have approved: Zoe." in counted
