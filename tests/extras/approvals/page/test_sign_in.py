"""The page with ApprovalLinks=sign-in: the link names the question; who decides is who signs in, in this browser."""

import base64
import hashlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from html import escape
from typing import Any, Final
from urllib.parse import urlencode

import httpx
import pytest
from msgspec.structs import replace

from stepwire.extras.approvals.page.links import Link, link_of, opened, sealed
from stepwire.extras.approvals.page.sealed import Purpose, seal
from stepwire.protocol.tokens import wrap
from stepwire_local.extras.approvals.sign_in import CLIENT_ID
from tests.extras.approvals.approving import Decider
from tests.extras.approvals.page.desk import (
    COOKIE,
    PEOPLE,
    RESTATING,
    Browser,
    Desk,
    Question,
    form_of,
    query_of,
    text_of,
)
from tests.server.clients import ASKING_CAPABILITY

SAME: Final = {"sec-fetch-site": "same-origin", "origin": "null"}


@pytest.fixture
def changing_tokens(by_sign_in: Desk) -> Iterator[dict[str, Any]]:
    """Claims that the issuer puts into its next tokens."""
    issuer, more = by_sign_in.issuer, dict[str, Any]()
    assert issuer is not None
    grants: Any = issuer.grants
    sign = grants._sign

    def sign_more(claims: Mapping[str, Any], kind: str) -> str:
        return sign({**claims, **more}, kind)

    grants._sign = sign_more
    yield more
    grants._sign = sign


def begun(desk: Desk, url: str, browser: Browser) -> httpx.Response:
    return browser.get(f"{url}?sign-in")


def test_a_person_signs_in_and_approves(by_sign_in: Desk) -> None:
    question, browser = by_sign_in.ask(), Browser()

    landing = browser.get(question.url)
    page = by_sign_in.signed_in(question, "frida", browser)
    answer = browser.submit(page, "approve", **{"field-0": "fine"})

    assert "Pay 700?" not in landing.text
    assert 'href="/approvals/' in landing.text
    assert "You are signed in as frida" in text_of(page.text)
    assert "Asked by carla" in text_of(page.text)
    assert "You have approved it" in text_of(answer.text)
    (vote,) = by_sign_in.answer_of(question)["answers"]
    assert (vote["by"], vote["way"], vote["content"]) == ("frida", "sign-in", {"note": "fine"})
    assert browser.cookies == {}


@pytest.mark.parametrize(("button", "is_approved"), [("approve", True), ("refuse", False)])
def test_a_field_that_asks_for_the_decision_is_answered_by_the_button_behind_a_sign_in_too(
    by_sign_in: Desk, button: str, *, is_approved: bool
) -> None:
    question, browser = by_sign_in.ask(form=RESTATING), Browser()

    page = by_sign_in.signed_in(question, "frida", browser)
    browser.submit(page, button)

    assert "checkbox" not in page.text
    assert by_sign_in.answer_of(question)["content"] == {"approved": is_approved}


def test_a_sign_in_begins_behind_a_rest_api_too_which_writes_an_empty_value(open_by_sign_in: Question) -> None:
    to_issuer = Browser().get(f"{open_by_sign_in.url}?sign-in=")

    assert to_issuer.status_code == httpx.codes.SEE_OTHER


def test_of_two_sign_ins_in_one_browser_the_last_one_is_not_lost_with_the_first(by_sign_in: Desk) -> None:
    question, browser = by_sign_in.ask(), Browser()
    first = by_sign_in.came_back(begun(by_sign_in, question.url, browser), "frida")
    second = by_sign_in.came_back(begun(by_sign_in, question.url, browser), "frida")

    refused, signed_in = browser.get(first), browser.get(second)

    assert "did not begin this sign-in" in text_of(refused.text)
    assert "You are signed in as frida" in text_of(signed_in.text)


def test_what_the_issuer_is_asked(by_sign_in: Desk) -> None:
    question, browser = by_sign_in.ask(), Browser()

    to_issuer = begun(by_sign_in, question.url, browser)

    asked = query_of(to_issuer.headers["location"])
    verifier = browser.cookies[COOKIE]
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    assert to_issuer.headers["location"].startswith(f"{by_sign_in.issuer.url}/authorize?")  # type: ignore[union-attr]
    state = asked.pop("state")
    assert asked == {
        "response_type": "code",
        "client_id": CLIENT_ID,
        "redirect_uri": f"{by_sign_in.origin}/approvals/signed-in",
        "resource": by_sign_in.stack.url,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    assert question.url.rpartition("/")[2] not in state
    (cookie,) = to_issuer.headers.get_list("set-cookie")
    assert cookie == f"{COOKIE}={verifier}; Path=/; Max-Age=600; Secure; HttpOnly; SameSite=Lax"


@pytest.mark.parametrize("person", ["carla", "sam"])
def test_neither_the_caller_nor_somebody_else_decides(by_sign_in: Desk, open_by_sign_in: Question, person: str) -> None:
    page = by_sign_in.signed_in(open_by_sign_in, person)

    assert page.status_code == httpx.codes.FORBIDDEN
    assert "Not yours to decide" in text_of(page.text)
    assert "Pay 700?" not in page.text
    assert "<form" not in page.text


@pytest.mark.parametrize(("person", "sees"), [("felix", True), ("carla", False), ("sam", False)])
def test_who_could_have_decided_reads_the_question_the_answer_and_by_whom(
    by_sign_in: Desk, person: str, *, sees: bool
) -> None:
    question, browser = by_sign_in.ask(), Browser()
    browser.submit(by_sign_in.signed_in(question, "frida", browser), "approve", **{"field-0": "fine"})

    words = text_of(by_sign_in.signed_in(question, person).text)

    assert "Approved by finance" in words
    told = {"Pay 700?": sees, "note fine": sees, "Approved by frida": sees, "You need do nothing.": True}
    assert {one: one in words for one in told} == told


def test_a_person_in_two_browsers_is_one(by_sign_in: Desk) -> None:
    question, browser, other = by_sign_in.ask(audience={"approvals": 2}), Browser(), Browser()
    browser.submit(by_sign_in.signed_in(question, "frida", browser), "approve")

    again = by_sign_in.signed_in(question, "frida")
    decided = other.submit(by_sign_in.signed_in(question, "felix", other), "approve")

    assert "1 of 2 have approved" in text_of(again.text)
    assert "<form" not in again.text
    assert "Approved by finance" in text_of(decided.text)
    assert [one["by"] for one in by_sign_in.answer_of(question)["answers"]] == ["frida", "felix"]


def test_a_group_that_is_taken_away_between_link_and_sign_in(by_sign_in: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    question = by_sign_in.ask()
    monkeypatch.setitem(PEOPLE, "frida", ["sales"])

    page = by_sign_in.signed_in(question, "frida")

    assert page.status_code == httpx.codes.FORBIDDEN
    assert "<form" not in page.text


def test_a_forwarded_link_is_of_no_use_without_a_sign_in(by_sign_in: Desk, open_by_sign_in: Question) -> None:
    answer = Browser().send("POST", open_by_sign_in.url, data={"decision": "approve"}, headers=SAME)

    assert answer.status_code == httpx.codes.FORBIDDEN
    assert "Sign in again" in text_of(answer.text)
    assert by_sign_in.status_of(open_by_sign_in) == "working"


def _of_another_link(desk: Desk, token: str) -> str:
    found = opened(token, Purpose.APPROVAL_FORM, lambda: [desk.secret()])
    return seal([f"{found[0]}A", *found[1:]], Purpose.APPROVAL_FORM, desk.secret())


def _expired(desk: Desk, token: str) -> str:
    found = opened(token, Purpose.APPROVAL_FORM, lambda: [desk.secret()])
    assert 0 < found[3] - datetime.now(UTC).timestamp() <= timedelta(minutes=10).total_seconds()
    return seal([*found[:3], int(datetime.now(UTC).timestamp())], Purpose.APPROVAL_FORM, desk.secret())


def _forged(desk: Desk, token: str) -> str:
    found = opened(token, Purpose.APPROVAL_FORM, lambda: [desk.secret()])
    return seal(found, Purpose.APPROVAL_FORM, b"a secret of somebody else")


def _of_another_purpose(desk: Desk, token: str) -> str:
    found = opened(token, Purpose.APPROVAL_FORM, lambda: [desk.secret()])
    return seal(found, Purpose.APPROVAL_SIGN_IN, desk.secret())


def _missing(_desk: Desk, _token: str) -> str:
    return ""


@pytest.mark.parametrize("made", [_of_another_link, _expired, _forged, _of_another_purpose, _missing])
def test_a_form_that_is_not_of_this_sign_in(
    by_sign_in: Desk, open_by_sign_in: Question, made: Callable[[Desk, str], str]
) -> None:
    browser = Browser()
    page = by_sign_in.signed_in(open_by_sign_in, "frida", browser)
    token = made(by_sign_in, form_of(page.text).values["signed-in"])

    answer = browser.submit(page, "approve", **{"signed-in": token})

    assert answer.status_code == httpx.codes.FORBIDDEN
    assert "Nothing was decided" in text_of(answer.text)
    assert by_sign_in.status_of(open_by_sign_in) == "working"


NOTE_AND_CHOICE: Final = {
    "type": "object",
    "properties": {
        "note": {"type": "string", "maxLength": 200},
        "urgent": {"type": "boolean", "default": True},
    },
}


def expires(desk: Desk, browser: Browser, page: httpx.Response, **filled: Any) -> httpx.Response:
    """Send the form of a page after its sign-in has expired."""
    return browser.submit(
        page, "approve", **{"signed-in": _expired(desk, form_of(page.text).values["signed-in"])}, **filled
    )


def test_what_was_typed_is_there_again_after_the_next_sign_in(by_sign_in: Desk) -> None:
    question, browser = by_sign_in.ask(form=NOTE_AND_CHOICE), Browser()
    page = by_sign_in.signed_in(question, "frida", browser)
    typed = {"field-0": 'Ünïcode & "quotes" ' * 8}

    expired = expires(by_sign_in, browser, page, **typed, **{"field-1": []})
    kept = dict(browser.cookies)
    again = by_sign_in.signed_in(question, "frida", browser)
    answer = browser.submit(again, "approve")

    assert "What you filled in will be there again." in text_of(expired.text)
    assert "Pay 700?" not in expired.text
    assert list(kept) == ["__Host-stepwire-typed"]
    assert "quotes" not in kept["__Host-stepwire-typed"]
    (cookie,) = expired.headers.get_list("set-cookie")
    assert cookie.endswith("; Path=/; Max-Age=600; Secure; HttpOnly; SameSite=Lax")
    assert again.status_code == httpx.codes.OK
    assert browser.cookies == {}, "nothing outlives the sign-in"
    assert "You have approved it" in text_of(answer.text)
    (vote,) = by_sign_in.answer_of(question)["answers"]
    assert vote["content"] == {"note": typed["field-0"], "urgent": False}


def test_what_was_typed_is_for_its_person_and_its_question(by_sign_in: Desk) -> None:
    question, other, browser = by_sign_in.ask(), by_sign_in.ask(), Browser()
    page = by_sign_in.signed_in(question, "frida", browser)
    expires(by_sign_in, browser, page, **{"field-0": "mine"})

    elsewhere = by_sign_in.signed_in(other, "frida", browser)
    of_another = by_sign_in.signed_in(question, "felix", browser)
    afterwards = by_sign_in.signed_in(question, "frida", browser)

    assert ["mine" in one.text for one in (elsewhere, of_another, afterwards)] == [False] * 3
    assert by_sign_in.status_of(question) == "working"


def test_what_is_too_long_for_a_cookie_is_shown_to_be_copied(by_sign_in: Desk) -> None:
    question, browser = by_sign_in.ask(form=NOTE_AND_CHOICE), Browser()
    page = by_sign_in.signed_in(question, "frida", browser)
    typed = "<b>It wobbles.</b> " * 400

    expired = expires(by_sign_in, browser, page, **{"field-0": typed})

    assert "set-cookie" not in expired.headers
    assert "Copy it before you sign in" in text_of(expired.text)
    assert escape(typed.strip()) in expired.text
    assert "Pay 700?" not in expired.text


@pytest.mark.parametrize("token", [_forged, _of_another_link])
def test_a_form_of_nobody_who_has_signed_in_is_not_kept(
    by_sign_in: Desk, open_by_sign_in: Question, token: Callable[[Desk, str], str]
) -> None:
    browser = Browser()
    page = by_sign_in.signed_in(open_by_sign_in, "frida", browser)
    sealed_for = token(by_sign_in, form_of(page.text).values["signed-in"])

    browser.submit(page, "approve", **{"signed-in": sealed_for, "field-0": "typed"})

    assert browser.cookies == {}


def test_an_answer_of_the_issuer_counts_only_in_the_browser_that_began(by_sign_in: Desk) -> None:
    """Login CSRF: somebody gives another browser the answer to their own sign-in."""
    question, own, other = by_sign_in.ask(), Browser(), Browser()
    answer = by_sign_in.came_back(begun(by_sign_in, question.url, own), "frida")

    without = Browser().get(answer)
    begun(by_sign_in, question.url, other)
    with_another = other.get(answer)

    for page in (without, with_another):
        assert page.status_code == httpx.codes.FORBIDDEN
        assert "did not begin this sign-in" in text_of(page.text)
    assert "You are signed in as frida" in text_of(own.get(answer).text)


def test_a_code_is_taken_once(by_sign_in: Desk) -> None:
    question, browser = by_sign_in.ask(), Browser()
    to_issuer = begun(by_sign_in, question.url, browser)
    answer, kept = by_sign_in.came_back(to_issuer, "frida"), dict(browser.cookies)
    browser.get(answer)

    browser.cookies.update(kept)
    again = browser.get(answer)

    assert again.status_code == httpx.codes.FORBIDDEN
    assert "does not take the code" in text_of(again.text)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"state": None}, "did not begin"),
        ({"state": "https://evil.example/"}, "did not begin"),
        ({"iss": "https://evil.example"}, "of another issuer"),
        ({"code": None, "error": "access_denied"}, "The issuer says: access_denied."),
        ({"code": None, "error": "<script>alert(1)</script>"}, "The issuer says: no code."),
        ({"code": "another"}, "does not take the code"),
    ],
)
def test_an_answer_that_is_not_right(
    by_sign_in: Desk, open_by_sign_in: Question, changes: dict[str, str | None], words: str
) -> None:
    browser = Browser()
    answer = by_sign_in.came_back(begun(by_sign_in, open_by_sign_in.url, browser), "frida")
    told = {name: value for name, value in {**query_of(answer), **changes}.items() if value is not None}

    page = browser.get(f"{by_sign_in.origin}/approvals/signed-in?{urlencode(told)}")

    assert page.status_code == httpx.codes.FORBIDDEN
    assert words in text_of(page.text)
    assert "location" not in page.headers  # no open redirect
    assert "evil" not in page.text
    assert "<script" not in page.text


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ({"iss": "https://evil.example"}, "its issuer is not right"),
        ({"aud": "https://other.example/mcp"}, "its audience is not right"),
        ({"client_id": "another-client"}, "its client is not right"),
        ({"azp": "another-client"}, "its client is not right"),
        ({"exp": 1_700_000_000}, "its time is not right"),
        ({"exp": "never"}, "its time is not right"),
        ({"nbf": 4_000_000_000}, "its time is not right"),
        ({"sub": ""}, "may not use this endpoint"),
        ({"token_use": "id"}, "may not use this endpoint"),
    ],
)
def test_a_token_for_something_else(
    by_sign_in: Desk,
    open_by_sign_in: Question,
    changing_tokens: dict[str, Any],
    claims: dict[str, Any],
    words: str,
) -> None:
    changing_tokens.update(claims)

    page = by_sign_in.signed_in(open_by_sign_in, "frida")

    assert page.status_code == httpx.codes.FORBIDDEN
    assert words in text_of(page.text)
    assert "Pay 700?" not in page.text


def test_an_issuer_that_does_not_answer_is_named_in_the_log(
    by_sign_in: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    question, browser, issuer = by_sign_in.ask(), Browser(), by_sign_in.issuer
    answer = by_sign_in.came_back(begun(by_sign_in, question.url, browser), "frida")

    def sign_nothing(*_: object) -> None: ...

    monkeypatch.setattr(issuer.grants, "_sign", sign_nothing)  # type: ignore[union-attr]

    page = browser.get(answer)

    assert page.status_code == httpx.codes.SERVICE_UNAVAILABLE
    assert "Nothing was decided: open your link again in a minute." in text_of(page.text)
    (line,) = [one for one in caplog.records if one.message == "nobody can sign in to decide"]
    assert vars(line)["reason"] == "it answers without an access token"


def test_a_link_that_has_expired_shows_no_question_after_a_sign_in(by_sign_in: Desk) -> None:
    question = by_sign_in.ask()
    link = link_of(question.url.rpartition("/")[2], lambda: [by_sign_in.secret()])
    assert isinstance(link, Link)
    old = sealed(replace(link, until=datetime.now(UTC) - timedelta(seconds=1)), by_sign_in.secret())

    page = by_sign_in.signed_in(replace_url(question, f"{by_sign_in.origin}/approvals/{old}"), "frida")

    assert page.status_code == httpx.codes.GONE
    assert "This link has expired" in text_of(page.text)


def replace_url(question: Any, url: str) -> Any:
    return type(question)(question.task_id, {**question.event, "links": [{"to": None, "url": url}]})


def test_a_prefetch_of_a_link_begins_no_sign_in(open_by_sign_in: Question) -> None:
    answers = [Browser().send(method, open_by_sign_in.url) for method in ("GET", "HEAD")]

    assert [one.status_code for one in answers] == [httpx.codes.OK] * 2
    assert not any("set-cookie" in one.headers or "Pay 700?" in one.text for one in answers)


def approval_id_of(desk: Desk, question: Question) -> str:
    """Return the id by which clients name a question; their list has the oldest only, and these tests share a stack."""
    link = link_of(question.url.rpartition("/")[2], lambda: [desk.secret()])
    assert link is not None
    return wrap([link.key.task.owner, link.key.task.task_id, link.key.number])


def test_two_people_at_once_by_page_and_by_tool(by_sign_in: Desk) -> None:
    question, browser = by_sign_in.ask(), Browser()
    page = by_sign_in.signed_in(question, "frida", browser)
    felix = Decider(by_sign_in.client("felix", ASKING_CAPABILITY))
    approval_id = approval_id_of(by_sign_in, question)

    with ThreadPoolExecutor(2) as at_once:
        by_page = at_once.submit(browser.submit, page, "approve")
        by_tool = at_once.submit(felix.decide, approval_id, {"action": "decline"})
        words = text_of(by_page.result().text)
    refused_by_tool = not by_tool.result().get("isError", False)

    answer = by_sign_in.answer_of(question)
    assert len(answer["answers"]) == 1
    assert (answer["action"] == "decline") is refused_by_tool
    assert ("Refused by finance" in words) is (answer["action"] == "decline")
    assert ("Approved by finance" in words) is (answer["action"] == "accept")
    assert ("You have approved it" in words) is (answer["action"] == "accept")


def test_the_same_person_by_page_and_by_tool_votes_once(by_sign_in: Desk) -> None:
    question, browser = by_sign_in.ask(audience={"approvals": 2}), Browser()
    frida = Decider(by_sign_in.client("frida", ASKING_CAPABILITY))
    browser.submit(by_sign_in.signed_in(question, "frida", browser), "approve")

    frida.decide(approval_id_of(by_sign_in, question))

    assert frida.asked == []
    assert by_sign_in.status_of(question) == "working"
