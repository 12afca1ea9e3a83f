"""The card's looks in a host: accessible in each theme and size, in the host's language, and nothing from outside."""

from base64 import b64encode
from typing import Any

import pytest

from tests.browser.chromium import needs_chromium
from tests.extras.cards.host import Card
from tests.extras.cards.screens import SCREENS
from tests.extras.cards.views import APPROVAL, DARK, FIRST, LIGHT, ORDERS, asking, done, view

pytestmark = [pytest.mark.long, needs_chromium]

SVG = b64encode(b'<svg xmlns="http://www.w3.org/2000/svg"/>').decode()
SQUARE = f"data:image/svg+xml;base64,{SVG}"
FITS = "document.documentElement.scrollWidth <= innerWidth"
HOST_COLOURS = {
    "--color-background-primary": "light-dark(#faf9f5, #30302e)",
    "--color-text-primary": "light-dark(#141413, #faf9f5)",
    "--font-sans": "Georgia, serif",
    "not-a-variable": "red",
}


@pytest.mark.parametrize("name", SCREENS)
def test_each_screen_is_accessible(card: Card, name: str) -> None:
    for context, dark, width in ((LIGHT, False, 640), (DARK, True, 320)):
        SCREENS[name].opens(card, context=context, dark=dark, width=width)

        assert card.accessibility_violations() == []
        assert card.looks(FITS)
        assert card.foreign_requests() == []
        assert card.problems() == []


def test_the_policy_stops_what_would_go_outside(card: Card) -> None:
    """The test above would see requests: the browser's log has also those that the policy stops."""
    card.opens(result=FIRST, replies={"card_task": [view()]})
    card.sees("Approve a refund")

    card.looks("""fetch("https://example.com/a").catch(() => {})""")
    card.looks("""void (document.body.append(Object.assign(new Image(), { src: "https://example.com/b.png" })))""")

    assert card.foreign_requests() == ["https://example.com/b.png"]
    assert len([one for one in card.problems() if "Content Security Policy" in one]) >= 2


def test_the_hosts_colours_and_fonts(card: Card) -> None:
    styles = {"variables": HOST_COLOURS}
    card.opens(result=FIRST, context={"theme": "dark", "styles": styles}, replies={"card_task": [view()]})
    card.sees("Approve a refund")
    colours = "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).fontFamily]"
    assert card.looks(colours) == ["rgb(48, 48, 46)", "Georgia, serif"]

    card.changes(theme="light")

    assert card.calls()
    assert card.looks(colours) == ["rgb(250, 249, 245)", "Georgia, serif"]


@pytest.mark.parametrize(
    ("locale", "language", "words"),
    [
        ("de-DE", "de-DE", ["Fertig", "Ergebnis", "22.11.2026, 10:01", "49,5", "Ja"]),
        ("ja-JP", "ja-JP", ["完了", "結果", "2026/11/22 10:01", "はい"]),
        ("ja", "ja", ["完了"]),
        ("en-GB", "en-GB", ["Done", "22 Nov 2026, 10:01"]),
        ("fr-FR", "en-FR", ["Done"]),
        ("zh-Hant-TW", "en", ["Done"]),
        ("!", "en", ["Done"]),
    ],
)
def test_the_hosts_language(card: Card, locale: str, language: str, words: list[str]) -> None:
    card.opens(result=FIRST, context={"locale": locale}, replies={"card_task": [done(structuredContent=ORDERS)]})

    card.sees(*words)

    assert card.looks("document.documentElement.lang") == language


@pytest.mark.parametrize(
    ("icons", "shown"),
    [
        ([], []),
        ([{"src": "https://example.com/a.png"}], []),  # it would be fetched
        ([{"src": "javascript:alert(1)"}, {"src": SQUARE}], [SQUARE]),
        ([{"src": f"{SQUARE}#dark", "theme": "dark"}, {"src": SQUARE, "theme": "light"}], [SQUARE]),
    ],
)
def test_the_tools_icon_is_an_image_that_nothing_fetches(
    card: Card, icons: list[dict[str, Any]], shown: list[str]
) -> None:
    tool = {"name": "refund", "inputSchema": {"type": "object"}, "icons": icons}
    card.opens(result=FIRST, context={**LIGHT, "toolInfo": {"tool": tool}}, replies={"card_task": [view()]})

    card.sees("Approve a refund")

    assert card.looks("[...document.querySelectorAll('h1 img')].map((one) => one.getAttribute('src'))") == shown
    assert card.foreign_requests() == []
    assert card.problems() == []
    assert card.accessibility_violations() == []


def test_motion_stops_for_those_who_asked_for_it(card: Card) -> None:
    moves = "document.getAnimations().filter((one) => one instanceof CSSAnimation).length"
    card.opens(result=FIRST, replies={"card_task": [view()]})
    card.sees("Approve a refund")
    assert card.looks(moves) > 0

    card.opens(result=FIRST, reduced=True, replies={"card_task": [view()]})
    card.sees("Approve a refund")

    assert card.looks(moves) == 0


def test_the_card_reports_its_height(card: Card) -> None:
    card.opens(result=FIRST, context=LIGHT, replies={"card_task": [asking(APPROVAL), done(structuredContent=ORDERS)]})
    card.sees("Send answer")
    heights = card.heights()
    card.passes(2)
    card.sees("R-7")

    assert card.heights()[: len(heights)] == heights
    assert card.heights()[-1] == card.looks("Math.ceil(document.body.getBoundingClientRect().height)")
    assert 200 < card.heights()[-1] < 2000


def test_all_can_be_done_with_the_keyboard(card: Card) -> None:
    replies = {"card_task": [asking(APPROVAL)], "card_answer": [view(statusMessage="Refunding")]}
    card.opens(result=FIRST, context=LIGHT, replies=replies)
    card.sees("Send answer")

    card.looks("document.querySelector('main input').focus()")
    card.types(" ", "Tab", "Tab", "o", "k", "Tab", "Enter")

    card.sees("Refunding")
    assert card.calls()[-1]["arguments"]["content"] == {"approve": True, "amount": 49.5, "note": "ok"}
    assert card.looks("document.activeElement.tagName") == "H1"


def test_a_change_is_announced_politely(card: Card) -> None:
    card.opens(result=FIRST, context=LIGHT, replies={"card_task": [view(), asking(APPROVAL)]})
    card.sees("Working")
    said = "document.querySelector('[role=status]').textContent"
    assert card.looks(said) == "Working"

    card.passes(2)

    assert card.looks(said).strip() == "Needs your answer. A question for you: May we refund order A-1042?"


@pytest.mark.parametrize(
    ("title", "uri", "shown"),
    [
        ("https://bank.example", "https://evil.example/login", "https://bank.example (evil.example)"),
        ("Receipt", "https://bank.example@evil.example/", "Receipt (evil.example)"),
        ("Receipt", "file:///etc/passwd", "Receipt (file:///etc/passwd)"),
        ("https://ok.example/a", "https://ok.example/a", "https://ok.example/a"),
        ("https://ok.example@evil.example/", "https://ok.example@evil.example/", "(evil.example)"),
    ],
)
def test_the_host_of_a_link_stands_beside_what_it_says(card: Card, title: str, uri: str, shown: str) -> None:
    link = {"type": "resource_link", "uri": uri, "name": title}
    card.opens(result=FIRST, context=LIGHT, replies={"card_task": [done(content=[link])]})

    card.sees("Done")

    assert shown in card.text
    assert ("(" in shown) == (f"{title} (" in card.text)


def test_links_are_opened_by_the_host(card: Card) -> None:
    SCREENS["blocks"].opens(card, context=LIGHT)

    card.presses("Receipt", "link")
    card.presses("https://example.com/refunds/R-7", "link")

    assert card.links() == ["https://example.com/r.pdf", "https://example.com/refunds/R-7"]
    assert card.looks("location.href") != "https://example.com/r.pdf"
