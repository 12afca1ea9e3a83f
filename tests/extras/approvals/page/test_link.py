"""The page with ApprovalLinks=link: whoever has a link decides once, and only with the page's own form."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import httpx
import pytest
from msgspec.structs import replace

from stepwire.extras.approvals.page.links import Link, link_of, sealed
from stepwire.tasks.ids import TaskId, TaskKey
from stepwire_local.console.guard import HEADER
from tests.extras.approvals.page.desk import RESTATING, Browser, Desk, Question, form_of, text_of
from tests.waiting import HANG_GUARD

EVERY_KIND: Final = {
    "type": "object",
    "properties": {
        "note": {"type": "string", "title": "A note", "minLength": 3, "maxLength": 40},
        "mail": {"type": "string", "format": "email"},
        "at": {"type": "string", "format": "date-time", "default": "2026-11-27T13:00:00+01:00"},
        "amount": {"type": "number", "minimum": 1, "maximum": 700, "default": 700},
        "days": {"type": "integer"},
        "urgent": {"type": "boolean", "default": True},
        "account": {"type": "string", "enum": ["a", "b"], "enumNames": ["Account A", "Account B"]},
        "cost": {
            "type": "string",
            "oneOf": [{"const": "c1", "title": "Centre 1"}, {"const": "c2", "title": "Centre 2"}],
        },
        "tags": {"type": "array", "items": {"type": "string", "enum": ["x", "y", "z"]}, "maxItems": 2},
    },
    "required": ["note", "amount"],
}
READ_AGAIN: Final = (
    "A note fine at 2026-11-27T12:00:00Z amount 700 days 12 urgent yes account Account B cost Centre 1 tags x, z",
    "Approved by somebody with the link",
)
SAME: Final = {"sec-fetch-site": "same-origin", "origin": "null"}
XSS: Final = '"><script>alert(1)</script><img src=x onerror=alert(1)>'


def link_in(desk: Desk, url: str) -> Link:
    found = link_of(url.rpartition("/")[2], lambda: [desk.secret()])
    assert found is not None
    return found


def url_of(desk: Desk, link: Link, secret: bytes | None = None) -> str:
    return f"{desk.origin}/approvals/{sealed(link, secret or desk.secret())}"


def test_a_person_reads_a_question_and_approves_it(by_link: Desk) -> None:
    question, browser = by_link.ask(), Browser()

    page = browser.get(question.url)
    answer = browser.submit(page, "approve", **{"field-0": "fine"})

    words = text_of(page.text)
    assert "Pay 700?" in words
    assert "Tool Settle an invoice pay" in words
    assert "amount 700 note lunch" in words
    assert "xyzzy" not in page.text  # an argument that the manifest does not show
    assert "Approved by finance" in text_of(answer.text)
    (vote,) = by_link.answer_of(question)["answers"]
    assert (vote["action"], vote["way"], vote["content"]) == ("accept", "link", {"note": "fine"})


def test_a_person_refuses_without_filling_in_anything(by_link: Desk) -> None:
    question, browser = by_link.ask(form=EVERY_KIND), Browser()

    answer = browser.submit(browser.get(question.url), "refuse", **{"field-0": ""})

    assert "Refused by finance" in text_of(answer.text)
    assert by_link.answer_of(question)["action"] == "decline"


def by_page(_desk: Desk, question: Question, button: str) -> str:
    """Press a button of the page, and return what it shows before."""
    browser = Browser()
    page = browser.get(question.url)
    browser.submit(page, button)
    return page.text


def by_console(desk: Desk, question: Question, button: str) -> str:
    """Answer in the console as Ann, and return what it shows her before."""
    console = f"{desk.origin}/console/api/approvals"
    shown = httpx.get(f"{console}?as=Ann", timeout=HANG_GUARD, trust_env=False).json()
    (one,) = [one for one in shown if one["taskId"] == question.task_id]
    answer: dict[str, Any] = {"action": "accept", "content": {}} if button == "approve" else {"action": "decline"}
    sent = {"origin": desk.origin, HEADER: "1"}
    url = f"{console}/{one['name']}?as=Ann"
    assert httpx.post(url, json=answer, headers=sent, timeout=HANG_GUARD, trust_env=False).is_success
    return json.dumps(one["params"]["requestedSchema"])


@pytest.mark.parametrize(("button", "is_approved"), [("approve", True), ("refuse", False)])
@pytest.mark.parametrize("door", [by_page, by_console])
def test_a_field_that_asks_for_the_decision_is_not_shown_and_the_button_answers_it(
    by_link: Desk, door: Callable[[Desk, Question, str], str], button: str, *, is_approved: bool
) -> None:
    question = by_link.ask(form=RESTATING)

    shown = door(by_link, question, button)

    assert "checkbox" not in shown
    assert "boolean" not in shown
    assert by_link.answer_of(question)["content"] == {"approved": is_approved}


def test_every_kind_of_field(by_link: Desk) -> None:
    question, browser = by_link.ask(form=EVERY_KIND), Browser()
    page = browser.get(question.url)

    filled = {"field-0": "fine", "field-4": "12", "field-6": "1", "field-7": "0", "field-8": ["0", "2"]}
    answer = browser.submit(page, "approve", **filled)

    assert answer.status_code == httpx.codes.OK, text_of(answer.text)
    for shown in READ_AGAIN:
        assert shown in text_of(answer.text)
    assert by_link.answer_of(question)["answers"][0]["content"] == {
        "note": "fine",
        "at": "2026-11-27T12:00:00Z",
        "amount": 700,
        "days": 12,
        "urgent": True,
        "account": "b",
        "cost": "c1",
        "tags": ["x", "z"],
    }


def test_a_form_with_faults_comes_back_as_it_was_sent(by_link: Desk) -> None:
    question, browser = by_link.ask(form=EVERY_KIND), Browser()

    faulty = {"field-0": "no", "field-1": "nobody", "field-3": "701", "field-4": "1.5", "field-6": "7"}
    answer = browser.submit(browser.get(question.url), "approve", **faulty, **{"field-8": ["0", "1", "2"]})

    assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    assert "<title>Error: " in answer.text
    for place in (0, 1, 3, 4, 6, 8):
        assert f'id="field-{place}-fault"' in answer.text, place
    assert 'id="field-2-fault"' not in answer.text
    kept = form_of(answer.text).values
    assert {name: kept[name] for name in ("field-1", "field-3", "field-4")} == {
        "field-1": "nobody",
        "field-3": "701",
        "field-4": "1.5",
    }
    assert by_link.status_of(question) == "working"


def test_a_link_decides_once(by_link: Desk) -> None:
    question, browser = by_link.ask(), Browser()
    page = browser.get(question.url)
    browser.submit(page, "approve")

    replayed = browser.submit(page, "refuse")
    later = Browser().get(question.url)

    for answer in (replayed, later):
        words = text_of(answer.text)
        assert "Approved by finance" in words
        assert "With this link, it was approved" in words
        assert "Pay 700?" in words
        assert "You may close this page." in words
    assert "<form" not in later.text
    assert by_link.answer_of(question)["action"] == "accept"


def test_a_link_that_has_expired_shows_what_was_decided_and_no_more(by_link: Desk) -> None:
    question, browser = by_link.ask(), Browser()
    browser.submit(browser.get(question.url), "approve", **{"field-0": "fine"})

    words = text_of(Browser().get(_expired(by_link, question)).text)

    assert "Approved by finance" in words
    assert [one for one in ("Pay 700?", "fine") if one in words] == []


def test_each_recipient_has_a_link_and_both_must_approve(by_link: Desk) -> None:
    question = by_link.ask(tool="pay_together")
    frida, felix = question.urls
    first, second, recipients = Browser(), Browser(), ["frida@example.com", "felix@example.com"]

    counted = first.submit(first.get(frida), "approve")
    again = first.get(frida)
    decided = second.submit(second.get(felix), "approve")

    assert [one["to"] for one in question.event["links"]] == recipients
    assert "1 of 2 have approved" in text_of(counted.text)
    assert "1 of 2 have approved" in text_of(again.text)
    for page in (decided, first.get(frida)):
        assert "Approved by finance" in text_of(page.text)
        assert "Approved by frida@example.com and felix@example.com" in text_of(page.text)
    assert [one["by"] for one in by_link.answer_of(question)["answers"]] == recipients


def test_no_link_for_a_question_that_needs_people_who_are_not_named(by_link: Desk) -> None:
    assert by_link.ask(audience={"approvals": 2}).urls == []


def test_a_question_with_a_condition_of_its_own_has_no_link_because_a_link_knows_nobody(by_link: Desk) -> None:
    audience = {"claim": "region", "has": "emea", "name": "nobody you know"}

    alone, together = by_link.ask(audience=audience), by_link.ask(tool="pay_together", audience=audience)

    assert (alone.urls, together.urls) == ([], [])
    assert (alone.event["audience"], together.event["audience"]) == (["finance"], ["finance"])


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PUT"])
def test_what_follows_links_decides_nothing(by_link: Desk, open_by_link: Question, method: str) -> None:
    question, scanner = open_by_link, Browser({"sec-purpose": "prefetch;prerender"})

    answers = [scanner.send(method, question.url) for _ in range(2)]
    scanner.send("GET", f"{question.url}?decision=approve")

    assert {one.status_code for one in answers} <= {httpx.codes.OK, httpx.codes.NOT_FOUND, httpx.codes.NO_CONTENT}
    assert by_link.status_of(question) == "working"
    assert "<form" in Browser().get(question.url).text


def _forged(desk: Desk, question: Question) -> str:
    return url_of(desk, link_in(desk, question.url), b"a secret of somebody else")


def _changed(_desk: Desk, question: Question) -> str:
    head, _, link = question.url.rpartition("/")
    middle = len(link) // 2
    return f"{head}/{link[:middle]}{'A' if link[middle] != 'A' else 'B'}{link[middle + 1 :]}"


def _cut(_desk: Desk, question: Question) -> str:
    return question.url[:-4]


def _of_nothing(desk: Desk, question: Question) -> str:
    link = link_in(desk, question.url)
    task = TaskKey(link.key.task.owner, TaskId("0" * 36))
    return url_of(desk, replace(link, key=replace(link.key, task=task)))


def _expired(desk: Desk, question: Question) -> str:
    return url_of(desk, replace(link_in(desk, question.url), until=datetime.now(UTC) - timedelta(seconds=1)))


@pytest.mark.parametrize(
    ("made", "status", "words"),
    [
        (_forged, 404, "No such question"),
        (_changed, 404, "No such question"),
        (_cut, 404, "No such question"),
        (_of_nothing, 410, "This question is closed"),
        (_expired, 410, "This link has expired"),
    ],
)
def test_a_link_that_was_not_made_for_an_open_question(
    by_link: Desk, open_by_link: Question, made: Callable[[Desk, Question], str], status: int, words: str
) -> None:
    url = made(by_link, open_by_link)

    seen = Browser().get(url)
    sent = Browser().send("POST", url, data={"decision": "approve"}, headers=SAME)

    for answer in (seen, sent):
        assert answer.status_code == status
        assert words in text_of(answer.text)
        assert "Pay 700?" not in answer.text
    assert by_link.status_of(open_by_link) == "working"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"data": {"decision": "approve"}, "headers": {"sec-fetch-site": "cross-site"}}, 403),
        ({"data": {"decision": "approve"}, "headers": {"sec-fetch-site": "same-site"}}, 403),
        ({"data": {"decision": "approve"}, "headers": {"sec-fetch-site": "none"}}, 403),
        ({"data": {"decision": "approve"}, "headers": {"origin": "https://evil.example"}}, 403),
        ({"data": {"decision": "maybe"}, "headers": SAME}, 400),
        ({"data": {}, "headers": {**SAME, "content-type": "application/x-www-form-urlencoded"}}, 400),
        ({"json": {"decision": "approve"}, "headers": SAME}, 415),
        ({"files": {"decision": (None, "approve")}, "headers": SAME}, 415),
        ({"data": {"decision": "approve", "field-0": "x" * 1_048_576}, "headers": SAME}, 413),
        ({"data": {f"field-{one}": "" for one in range(3_000)} | {"decision": "approve"}, "headers": SAME}, 400),
        (
            {
                "content": b"decision=approve&field-0=%ff",
                "headers": {**SAME, "content-type": "application/x-www-form-urlencoded"},
            },
            400,
        ),
        ({"content": b"\xff", "headers": {**SAME, "content-type": "application/x-www-form-urlencoded"}}, 400),
    ],
)
def test_what_is_not_the_pages_own_form_decides_nothing(
    by_link: Desk, open_by_link: Question, sent: dict[str, Any], status: int
) -> None:
    answer = Browser().send("POST", open_by_link.url, **sent)

    assert answer.status_code == status, text_of(answer.text)
    assert "Nothing was decided" in text_of(answer.text)
    assert by_link.status_of(open_by_link) == "working"


def test_no_text_of_a_workflow_or_a_caller_becomes_markup(by_link: Desk) -> None:
    form = {
        "type": "object",
        "properties": {
            XSS: {"type": "string", "title": XSS, "description": XSS, "default": XSS},
            "pick": {"type": "string", "enum": [XSS], "enumNames": [XSS]},
        },
    }
    question = by_link.ask(message=XSS, note=XSS, amount={XSS: XSS}, form=form)

    page = Browser().get(question.url)

    assert "Pay" not in page.text
    assert "<script" not in page.text
    assert "<img" not in page.text
    assert text_of(page.text).count("&lt;script&gt;alert(1)") >= 5


def test_what_could_hide_in_a_text_is_shown(by_link: Desk) -> None:
    page = Browser().get(by_link.ask(message="Pay \u202e007 to \u200bthem?").url)

    assert "Pay \\u202e007 to \\u200bthem?" in text_of(page.text)


def test_every_answer_keeps_other_pages_and_caches_out(by_link: Desk) -> None:
    question, browser = by_link.ask(), Browser()
    page = browser.get(question.url)
    answers = [page, browser.get(f"{by_link.origin}/approvals/none"), browser.submit(page, "approve")]

    for answer in answers:
        headers = answer.headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "form-action 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert "set-cookie" not in headers


def test_a_link_shows_neither_the_caller_nor_the_task(open_by_link: Question) -> None:
    assert open_by_link.task_id not in open_by_link.url
    assert len(open_by_link.url) < 300  # characters, which mail programs do not break


def test_no_link_is_in_a_log(
    by_link: Desk, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    question, browser = by_link.ask(), Browser()
    secret = question.url.rpartition("/")[2]

    browser.submit(browser.get(question.url), "approve")
    Browser().get(question.url[:-1])

    out, err = capsys.readouterr()
    assert secret[:40] not in out + err + caplog.text


def test_a_question_that_was_withdrawn(by_link: Desk) -> None:
    question = by_link.ask()
    by_link.client().task("cancel", question.task_id)

    page = Browser().get(question.url)

    assert page.status_code == httpx.codes.GONE
    assert "This question is closed" in text_of(page.text)
