"""The page in a real browser: without JavaScript, in each theme and size, with the keyboard alone, and in no frame."""

import os
from pathlib import Path
from typing import Any, Final

import pytest

from tests.browser.chromium import needs_chromium, seen_by_chromium
from tests.extras.approvals.page.desk import Desk, Question

pytestmark = [pytest.mark.long, needs_chromium]

FORM: Final = {
    "type": "object",
    "properties": {
        "reason": {
            "type": "string",
            "title": "Why",
            "description": "The accounts department reads it.",
            "minLength": 3,
        },
        "amount": {"type": "number", "title": "Amount", "minimum": 1, "maximum": 700, "default": 700},
        "on": {"type": "string", "title": "Pay on", "format": "date"},
        "at": {"type": "string", "title": "Not before", "format": "date-time"},
        "centre": {
            "type": "string",
            "title": "Cost centre",
            "oneOf": [{"const": "c1", "title": "Centre 1"}, {"const": "c2", "title": "Centre 2"}],
        },
        "checks": {
            "type": "array",
            "title": "Checked",
            "items": {"anyOf": [{"const": "a", "title": "The order"}, {"const": "b", "title": "The photos"}]},
        },
        "urgent": {"type": "boolean", "title": "Pay at once", "default": True},
    },
    "required": ["reason", "amount"],
}
MESSAGE: Final = "Refund 700.00 EUR for order A-1002?\nReason given: it wobbles."
LOOKS: Final = [("light", 800), ("dark", 800), ("light", 390), ("dark", 390)]
PICTURES: Final = os.environ.get("APPROVAL_PICTURES", "")
"""A folder for pictures of what the tests see."""


def asked(desk: Desk, **arguments: Any) -> Question:
    long_note = "The customer has sent photos of the table, on which one leg is shorter than the others."
    return desk.ask(message=MESSAGE, form=FORM, note=long_note, **arguments)


def picture(name: str) -> list[list[str]]:
    return [["picture", str(Path(PICTURES) / f"{name}.png")]] if PICTURES else []


@pytest.mark.parametrize(("theme", "width"), LOOKS)
def test_each_page_is_accessible_and_fits(by_link: Desk, theme: str, width: int) -> None:
    question = asked(by_link)
    looks = [["axe"], ["overflows"]]
    wrong: list[list[Any]] = [["fill", "Amount", "900"], ["press", "button", "Refuse"]]
    steps = [
        ["open", question.url],
        *looks,
        *picture(f"question-{theme}-{width}"),
        *wrong,
        *looks,
        *picture(f"refused-{theme}-{width}"),
        ["open", f"{by_link.origin}/approvals/none"],
        *looks,
        *picture(f"none-{theme}-{width}"),
    ]

    seen = seen_by_chromium("endpoint.mjs", {"theme": theme, "width": width, "script": True, "steps": steps})

    looked = [one for (name, *_), one in zip(steps, seen["results"], strict=True) if name in {"axe", "overflows"}]
    assert looked == [[], False, [], False, [], False]
    assert seen["cookies"] == []


@pytest.mark.parametrize(("theme", "width"), LOOKS)
def test_a_form_with_faults_is_accessible_and_comes_back(by_link: Desk, theme: str, width: int) -> None:
    question = asked(by_link)
    steps: list[list[Any]] = [
        ["open", question.url],
        ["fill", "Why", "no"],
        ["fill", "Amount", "90"],
        ["press", "button", "Approve"],
        ["text"],
        ["axe"],
        ["overflows"],
        *picture(f"faults-{theme}-{width}"),
    ]

    seen = seen_by_chromium("endpoint.mjs", {"theme": theme, "width": width, "script": True, "steps": steps})

    _, _, _, heading, text, violations, overflows, *_ = seen["results"]
    assert heading == "A decision for finance"
    assert "Please look at what is marked below." in text
    assert "shorter than 3 characters" in text
    assert (violations, overflows) == ([], False)


def test_with_the_keyboard_alone(by_link: Desk) -> None:
    question = by_link.ask(message=MESSAGE)
    steps = [["open", question.url], ["keys", "Tab", "Tab", "text:fine", "Tab", "Enter"], ["text"]]

    seen = seen_by_chromium("endpoint.mjs", {"steps": steps})

    _, focused, text = seen["results"]
    assert focused[1] == "field-0"
    assert focused[3] == "Approve"
    assert "Approved by finance" in text
    assert by_link.answer_of(question)["content"] == {"note": "fine"}


def test_a_sign_in_in_a_browser(by_sign_in: Desk) -> None:
    question = asked(by_sign_in)
    steps: list[list[Any]] = [
        ["open", question.url],
        *picture("sign-in"),
        ["press", "link", "Sign in"],
        ["press", "link", "frida, of finance"],
        *picture("signed-in"),
        ["fill", "Why", "It wobbles"],
        ["press", "button", "Approve"],
        *picture("approved"),
        ["text"],
    ]

    seen = seen_by_chromium("endpoint.mjs", {"steps": steps})

    text = seen["results"][-1]
    assert "You have approved it" in text
    assert MESSAGE in text
    assert "Why\nIt wobbles\nAmount\n700\nPay at once\nyes\nApproved by\nfrida" in text
    assert seen["cookies"] == []
    (vote,) = by_sign_in.answer_of(question)["answers"]
    assert (vote["by"], vote["way"]) == ("frida", "sign-in")


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 740)])
def test_the_buttons_are_in_sight_at_once(by_link: Desk, width: int, height: int) -> None:
    question = asked(by_link)
    steps: list[list[Any]] = [["open", question.url], *picture(f"first-{width}"), ["hidden"]]

    seen = seen_by_chromium("endpoint.mjs", {"width": width, "height": height, "script": True, "steps": steps})

    assert seen["results"][-1] == []


def test_no_other_page_shows_it_in_a_frame(by_link: Desk) -> None:
    question = by_link.ask()

    seen = seen_by_chromium("endpoint.mjs", {"script": True, "steps": [["framed", question.url]]})

    assert "X-Frame-Options" in seen["results"][0] or "frame-ancestors" in seen["results"][0]
