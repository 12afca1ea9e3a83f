"""The card's forms: each kind of field that elicitation allows in either era, checked before it is sent."""

from typing import Any

import pytest

from tests.browser.chromium import needs_chromium
from tests.extras.cards.host import Card
from tests.extras.cards.views import FIRST, LIGHT, asking, asks, view

pytestmark = [pytest.mark.long, needs_chromium]

STRING = {"type": "string", "title": "It"}
NUMBER = {"type": "number", "title": "It"}
INTEGER = {"type": "integer", "title": "It"}
TITLED = [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]
COLOURS = {"type": "array", "title": "It", "items": {"type": "string", "enum": ["red", "green", "blue"]}}
ADDRESS = "Please write an email address."
WHOLE = "Please write a whole number."
FEW = "At least {}, please."
MANY = "At most {}, please."
FILL = "Please fill this in."
PLAIN = "Please write a number, without thousands separators."

ACCEPTED: list[tuple[dict[str, Any], str, Any]] = [
    (STRING, "hello", "hello"),
    (STRING, "", None),
    ({**STRING, "maxLength": 2}, "𠮷野", "𠮷野"),
    ({**STRING, "format": "email"}, " a@example.com ", "a@example.com"),
    ({**STRING, "format": "uri"}, "urn:isbn:1", "urn:isbn:1"),
    ({**STRING, "format": "date"}, "2026-02-28", "2026-02-28"),
    ({**STRING, "format": "date-time"}, "2026-07-01T12:30", "2026-07-01T10:30:00Z"),
    (NUMBER, "-1.5", -1.5),
    (NUMBER, "\uff11\uff12", 12),  # as Japanese input methods write it
    (INTEGER, "7", 7),
    ({**INTEGER, "minimum": 0, "maximum": 0}, "0", 0),
]
REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({**STRING, "minLength": 3}, "ab", "At least 3 characters, please."),
    ({**STRING, "maxLength": 3}, "abcd", "At most 3 characters, please."),
    ({**STRING, "format": "email"}, "nobody", ADDRESS),
    ({**STRING, "format": "uri"}, "example.com", "Please write an address such as https://example.com."),
    (NUMBER, "twelve", PLAIN),
    (NUMBER, "1,000", PLAIN),
    (NUMBER, "0x10", PLAIN),
    (INTEGER, "1.5", WHOLE),
    (INTEGER, "9007199254740993", WHOLE),
    ({**NUMBER, "minimum": 2}, "1", FEW.format(2)),
    ({**NUMBER, "maximum": 2}, "3", MANY.format(2)),
]


def opened(card: Card, schema: dict[str, Any], *, required: bool = False, **context: Any) -> Card:
    """Show a question with one field."""
    question = asks({"it": schema}, *(["it"] if required else []))
    replies = {"card_task": [asking(question)], "card_answer": [view()]}
    card.opens(result=FIRST, context={**LIGHT, **context}, replies=replies, zone="Europe/Berlin")
    card.sees("May we refund")
    return card


def content(card: Card) -> dict[str, Any]:
    """Send the answer; return its content."""
    card.presses("Send answer")
    return dict(card.calls()[-1]["arguments"]["content"])


@pytest.mark.parametrize(("schema", "written", "sent"), ACCEPTED)
def test_what_is_written_is_sent(card: Card, schema: dict[str, Any], written: str, sent: Any) -> None:
    opened(card, schema).fills("It", written)

    assert content(card) == ({} if sent is None else {"it": sent})


@pytest.mark.parametrize(("schema", "written", "words"), REFUSED)
def test_what_is_wrong_is_said(card: Card, schema: dict[str, Any], written: str, words: str) -> None:
    opened(card, schema).fills("It", written)

    card.presses("Send answer")

    card.sees(words)
    assert len(card.calls()) == 1


@pytest.mark.parametrize(
    "schema",
    [STRING, NUMBER, {**STRING, "format": "date"}, {**STRING, "oneOf": TITLED}, {**STRING, "enum": [*"abcde"]}],
)
def test_what_is_required_is_asked_for(card: Card, schema: dict[str, Any]) -> None:
    opened(card, schema, required=True)

    card.presses("Send answer")

    card.sees(FILL)
    assert len(card.calls()) == 1


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({**STRING, "default": "x"}, "x"),
        ({**STRING, "format": "date", "default": "2026-01-02"}, "2026-01-02"),
        ({**STRING, "format": "date-time", "default": "2026-01-02T03:04:00Z"}, "2026-01-02T03:04:00Z"),
        ({**NUMBER, "default": 0.25}, 0.25),
        ({**INTEGER, "default": 0}, 0),
        ({"type": "boolean", "default": True}, True),
        ({"type": "boolean", "default": False}, False),
        ({**STRING, "enum": ["a", "b"], "default": "b"}, "b"),
        ({**STRING, "oneOf": TITLED, "default": "g"}, "g"),
        ({**COLOURS, "default": ["blue", "red"]}, ["red", "blue"]),
    ],
)
def test_defaults_are_there(card: Card, schema: dict[str, Any], value: Any) -> None:
    for required in (False, True):
        opened(card, schema, required=required)

        assert content(card) == {"it": value}


@pytest.mark.parametrize(
    ("schema", "option", "value"),
    [
        ({**STRING, "enum": ["red", "green"]}, "green", "green"),
        ({**STRING, "enum": ["r", "g"], "enumNames": ["Red", "Green"]}, "Green", "g"),
        ({**STRING, "oneOf": TITLED}, "Green", "g"),
    ],
)
def test_one_is_chosen(card: Card, schema: dict[str, Any], option: str, value: str) -> None:
    opened(card, schema).picks("It", option)
    assert content(card) == {"it": value}

    opened(card, schema, required=True).checks(option)
    assert content(card) == {"it": value}


@pytest.mark.parametrize("items", [{"type": "string", "enum": ["Red", "Green"]}, {"anyOf": TITLED}])
def test_several_are_chosen(card: Card, items: dict[str, Any]) -> None:
    opened(card, {"type": "array", "title": "It", "items": items, "minItems": 2}).checks("Green")
    card.presses("Send answer")
    card.sees(FEW.format(2))

    card.checks("Red")

    assert content(card) == {"it": ["r", "g"] if "anyOf" in items else ["Red", "Green"]}


def test_too_many_are_chosen(card: Card) -> None:
    opened(card, {**COLOURS, "maxItems": 1}).checks("red")
    card.checks("blue")

    card.presses("Send answer")

    card.sees(MANY.format(1))


def test_numbers_are_read_as_the_language_writes_them(card: Card) -> None:
    opened(card, NUMBER, locale="de-DE").fills("It", "1,5")
    card.presses("Antwort senden")
    assert card.calls()[-1]["arguments"]["content"] == {"it": 1.5}

    opened(card, NUMBER, locale="de-DE").fills("It", "1.000")
    card.presses("Antwort senden")
    card.sees("Bitte eine Zahl ohne Tausenderpunkte schreiben.")


def test_a_confirmation_has_no_fields(card: Card) -> None:
    replies = {"card_task": [asking(asks({}, message="Start it?"))], "card_answer": [view()]}
    card.opens(result=FIRST, context=LIGHT, replies=replies)

    card.presses("Accept")

    sent = card.calls()[-1]["arguments"]
    assert (sent["action"], sent["content"]) == ("accept", {})


PAGE: dict[str, Any] = {
    "key": "pay",
    "message": "Please sign in",
    "mode": "url",
    "url": "https://pay.example.com/in?x=1",
    "attempt": 1,
}


def test_a_page_is_opened_by_the_host(card: Card) -> None:
    card.opens(result=FIRST, context=LIGHT, replies={"card_task": [asking(PAGE)], "card_answer": [view()]})
    card.sees("This opens a page outside of this chat, on", "pay.example.com")

    card.presses("Open pay.example.com")

    assert card.links() == [PAGE["url"]]
    sent = card.calls()[-1]["arguments"]
    assert (sent["action"], "content" in sent) == ("accept", False)


def test_a_page_that_the_host_does_not_open(card: Card) -> None:
    card.opens(
        result=FIRST,
        context=LIGHT,
        opensNothing=True,
        replies={"card_task": [asking(PAGE)], "card_answer": [view()]},
    )

    card.presses("Open pay.example.com")
    card.sees("Please open the address above yourself.", str(PAGE["url"]))
    assert len(card.calls()) == 1
    card.presses("Accept")

    assert card.calls()[-1]["arguments"]["action"] == "accept"


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "not a url"])
def test_no_other_address_is_opened(card: Card, url: str) -> None:
    card.opens(result=FIRST, context=LIGHT, replies={"card_task": [asking({**PAGE, "url": url})]})

    card.sees("This card cannot show this question.", "Decline")

    assert "Open" not in card.text


def test_an_unknown_kind_of_question_can_be_declined(card: Card) -> None:
    card.opens(result=FIRST, context=LIGHT, replies={"card_task": [asking({**PAGE, "mode": "other"})]})

    card.sees("This card cannot show this question.", "Decline")
