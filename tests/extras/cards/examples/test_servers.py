"""The card of the real server: the local stack with its example workflows, behind a released client, in both eras."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from stepwire_local import LocalStack
from tests.browser.chromium import needs_chromium
from tests.extras.cards.host import Card, card_host
from tests.extras.cards.views import LIGHT
from tests.waiting import until

pytestmark = [pytest.mark.long, needs_chromium]

ROOT: Final = Path(__file__).parents[4]
HOSTILE: Final = "<script>parent.postMessage(1, '*')</script>"
REFUND: Final = {"order_id": "A-1002", "amount": "249.00", "currency": "EUR", "reason": "It came broken"}
FOREIGN: Final = "018f0000-0000-7000-8000-000000000000"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The endpoint, with the example workflows."""
    with LocalStack(ROOT / "stack.yaml", others=[ROOT / "examples/template.yaml"]) as stack:
        yield stack.url


@pytest.fixture(scope="module")
def card() -> Iterator[Card]:
    """A host of cards."""
    with card_host() as card:
        yield card


@pytest.fixture(params=["legacy", "auto"])
def host(request: pytest.FixtureRequest, url: str, card: Card) -> Any:
    """Return what shows the card of a call, in each era."""

    def shows(tool: str, arguments: dict[str, Any], **wish: Any) -> Card:
        return card.opens(url=url, mode=request.param, tool=tool, input=arguments, context=LIGHT, **wish)

    return shows


def comes(card: Card, words: str) -> None:
    """Let the card's time pass until it shows these words."""

    def seen() -> bool:
        card.passes(1)
        return words in card.text

    until(seen)


def test_a_task_to_its_result(host: Any) -> None:
    card = host("wait_and_echo", {"message": HOSTILE, "seconds": 4})
    comes(card, "Wait and echo")
    assert "Working" in card.text

    comes(card, "Done")

    assert HOSTILE in card.text
    assert "Waited seconds" in card.text
    assert card.told()[0].count("Its status is completed") == 1
    assert card.foreign_requests() == []
    assert card.problems() == []
    assert card.accessibility_violations() == []


def test_a_question_is_answered_after_a_wrong_answer(host: Any) -> None:
    card = host("approve_refund", REFUND)
    comes(card, "It came broken")
    assert card.accessibility_violations() == []

    card.fills("Amount to refund", "300")
    card.presses("Send answer")
    card.sees("At most 249, please.")
    card.fills("Amount to refund", "100")
    card.fills("Note", "Sorry")
    card.presses("Send answer")
    comes(card, "Done")

    assert "100.00" in card.text
    assert "refunded" in card.text
    (told,) = card.told()
    (answer,) = [one["arguments"] for one in card.calls() if one["name"] == "card_answer"]
    assert answer["content"] == {"amount": 100, "note": "Sorry"}
    assert answer["token"] not in told


def test_a_question_is_declined_after_a_reload(host: Any) -> None:
    card = host("approve_refund", REFUND)
    comes(card, "It came broken")

    card.reloads()
    comes(card, "It came broken")
    card.presses("Decline")
    comes(card, "Done")

    assert "declined" in card.text


def test_a_task_is_cancelled(host: Any) -> None:
    card = host("wait_and_echo", {"message": "x", "seconds": 3600})
    comes(card, "Cancel task")

    card.presses("Cancel task")
    card.presses("Yes, stop it")

    comes(card, "Cancelled")
    assert "Its status is cancelled" in card.told()[0]


def test_a_failure_in_words(host: Any) -> None:
    card = host("wait_and_echo", {"message": "x", "seconds": 3, "error": "Shop.Closed", "cause": "It is Sunday"})

    comes(card, "What went wrong")

    assert "It is Sunday" in card.text


def test_a_host_that_denies_calls(host: Any) -> None:
    card = host("wait_and_echo", {"message": "x", "seconds": 60}, denies="Not allowed here")

    card.sees("This app does not let the card ask the server. Not allowed here", "Working")


def test_a_foreign_task(host: Any) -> None:
    changed = {"_meta": {"stepwire/card": {"taskId": FOREIGN}}}
    card = host("wait_and_echo", {"message": "x", "seconds": 0}, changed=changed)

    card.sees("You have no task with this task_id.", "Try again")

    assert len(card.calls()) == 1


def test_a_dark_host_at_320_pixels(host: Any) -> None:
    card = host("approve_refund", REFUND, width=320, dark=True)
    comes(card, "It came broken")
    card.changes(theme="dark")

    assert card.calls()
    assert card.looks("document.documentElement.scrollWidth <= innerWidth")
    assert card.accessibility_violations() == []
