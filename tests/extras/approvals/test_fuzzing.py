"""The approvers' page as the fuzzer sees it: within bounds, and each wrong page and vote is detected."""

import json
from typing import Final

import pytest

from stepwire.extras.approvals.page.links import LinkMode
from stepwire.extras.approvals.page.markup import HEADERS as HTML_HEADERS
from tests.extras.approvals import fuzzing as approvals
from tests.fuzz import bounds
from tests.fuzz.test_targets import LARGEST_EVENT, MOST_MEMORY, memory_in
from tests.server.answers import Json


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Relax the time bound for slow machines, as the tests of all targets do."""
    monkeypatch.setattr(bounds, "MOST_SECONDS", 10.0)
    monkeypatch.setattr(bounds, "MOST_MEMORY", 4 * bounds.MOST_MEMORY)


ONE: Final = b"decision=approve&field-0=fine&field-4="
FORMS: dict[str, bytes] = {
    "as much as API Gateway takes": b"a" * (LARGEST_EVENT * 3 // 4),
    "nothing but separators": b"&" * 65_000,
    "as many fields as go into a body": b"a=&" * 20_000,
    "as many fields as are read": b"field-8=0&" * 1_990 + b"decision=approve",
    "a text of nothing but quotes": ONE + b"1&field-1=" + b'"' * 60_000,
    "a text of nothing but escaped quotes": ONE + b"1&field-1=" + b"%22" * 20_000,
    "half an escape, often": ONE + b"1&field-1=" + b"%2" * 30_000,
    "a number of nothing but invisible characters": ONE + b"\0" * 60_000,
    "a number of 60,000 digits": ONE + b"9" * 60_000,
    "a number of 60,000 zeros": ONE + b"0" * 60_000,
    "a number of 60,000 decimals": ONE + b"0." + b"1" * 60_000,
    "a long address": ONE + b"1&field-2=" + b"a." * 30_000 + b"@a.example",
    "a long time": ONE + b"1&field-3=" + b"2026-" * 12_000,
    "a long choice": ONE + b"1&field-7=" + b"9" * 60_000,
    "a token of 60,000 characters": ONE + b"1&signed-in=" + b"A" * 60_000,
}


@pytest.mark.parametrize("body", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("mode", ["link", "sign-in"])
def test_no_form_takes_much_time_or_memory(mode: str, body: bytes) -> None:
    event = approvals.posted(body)

    assert approvals.check(json.dumps({"mode": mode, **event}).encode())
    assert memory_in(approvals.FunctionApprovals(approvals.fresh(), LinkMode(mode)), event) < MOST_MEMORY


LONG: dict[str, Json] = {
    "a link": approvals.browsing("A" * 10_000),
    "a query": approvals.coming_back("a=&" * 3_000),
    "a state": approvals.coming_back("code=a", state="A" * 10_000),
    "a cookie": approvals.coming_back("code=a", verifier="A" * 10_000),
    "half a character in a cookie": approvals.coming_back("code=a", verifier="\ud800"),
    "half a character in a query": approvals.coming_back(f"code={approvals.CODE}&iss=\ud800"),
    "half a character for a code": approvals.coming_back("code=\ud800"),
    "no ASCII in base64": {**approvals.posted(b""), "body": "\u00fc"},
}


@pytest.mark.parametrize("event", LONG.values(), ids=LONG)
def test_what_no_browser_sends_is_answered(event: Json) -> None:
    assert approvals.check(json.dumps({"mode": "sign-in", **event}).encode())


FORGED: Final = "a link that nobody made"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"statusCode": 500}, "the status 500"),
        ({"headers": {"content-type": "text/html"}}, "those of every page"),
        ({"headers": {**HTML_HEADERS, "location": "https://a.example"}}, "only a redirect"),
        ({"cookies": ["a=b\r\n"]}, "a=b"),
        ({"body": "<!doctype html>\n<html><script>a</script></html>"}, "<script> is no element"),
        ({"body": '<!doctype html>\n<html><p onclick="a">a</p></html>'}, "must not have {'onclick'}"),
        ({"body": "<!doctype html>\n<html><p></html>"}, "</html> closes nothing"),
        ({"body": '<!doctype html>\n<html><a href="https://a.example">a</a></html>'}, "to this page alone"),
        ({"body": "a page"}, "a page is HTML"),
        ({"body": "a" * 100_000}, "characters for"),
    ],
)
def test_a_wrong_page_is_detected(change: Json, words: str) -> None:
    world, event = approvals.fresh(), approvals.browsing(FORGED)
    response = approvals.FunctionApprovals(world, LinkMode.LINK)(event, None)

    with pytest.raises(AssertionError, match=words):
        approvals.check_answer(event, LinkMode.LINK, {**response, **change}, world, 1_000)


@pytest.mark.parametrize(
    ("added", "words"), [(approvals.SHOWN, "only somebody who may decide"), (approvals.HIDDEN, "nobody sees this")]
)
def test_a_page_that_shows_too_much_is_detected(added: str, words: str) -> None:
    world, event = approvals.fresh(), approvals.browsing(FORGED)
    response = approvals.FunctionApprovals(world, LinkMode.LINK)(event, None)
    page = response["body"].replace("<h1>", f"<h1>{added}")

    with pytest.raises(AssertionError, match=words):
        approvals.check_answer(event, LinkMode.LINK, {**response, "body": page}, world, 1_000)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (approvals.browsing(FORGED), "only a form changes anything"),
        (approvals.posted(b"decision=refuse", FORGED), "only somebody who may decide changes anything"),
        (approvals.posted(b"decision=approve"), "the vote is theirs"),
    ],
)
def test_a_vote_of_nobody_who_may_decide_is_detected(asked: Json, words: str) -> None:
    world = approvals.fresh()
    function = approvals.FunctionApprovals(world, LinkMode.LINK)
    function(approvals.posted(b"decision=refuse"), None)

    with pytest.raises(AssertionError, match=words):
        approvals.check_answer(asked, LinkMode.LINK, function(approvals.browsing(FORGED), None), world, 1_000)
