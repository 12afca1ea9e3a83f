"""No refusal may end a client's session: released clients get every refusal, then make one more call in the session.

`mcp` 1.30 closes its session, with all other calls in it, on any HTTP status of 400 and above except 404.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

from stepwire.errors import ProtocolError, TaskStillRunning
from tests.clients.endpoint import OUTPUT, Served, served
from tests.clients.released import COMES_BACK, Client, Trial, tried_with
from tests.clients.way import Way
from tests.clients.ways import AFTER_GIVING_UP, BEFORE_THE_MESSAGE, OF_EXTRAS, OF_URLS, WAYS, leaves

Json = dict[str, Any]
THEN: Final = ["tools/call", {"name": "instant", "arguments": {"text": "one more"}}]

WRONG: Final = {"action": "accept", "content": {"amount": 5_000}}
INEXACT: Final = {"action": "accept", "content": {"amount": 1_859_999_999_999_999_999}}
RIGHT: Final = {"action": "accept", "content": {"amount": 7}}
WORDY: Final = {"action": "accept", "content": {"reason": "x" * 21}}
BRIEF: Final = {"action": "accept", "content": {"reason": "They are old."}}
TALKS: Final = {
    "what a workflow asks": {"tool": "asking", "answers": [WRONG, WRONG, RIGHT]},
    "what a workflow asks, and an integer of 19 digits": {"tool": "asking", "answers": [INEXACT, RIGHT]},
    "what is asked before": {"tool": "confirmed", "answers": [WORDY, WORDY, BRIEF]},
}


def ways_of(client: Client) -> Mapping[str, Way]:
    """Return the ways of its era that a client can take."""
    known = {title: way for title, way in WAYS.items() if client.version in way.versions}
    if not client.has_tasks:
        return {title: way for title, way in known.items() if not way.has_task}
    if client.name == COMES_BACK:
        return {title: way for title, way in known.items() if way.error is not TaskStillRunning}
    return known


SHOWN_AS: Final = {-32002: (-32002, -32602)}
"""Codes that a client may turn into another: `client` 2.4 shows a missing resource as 2026-07-28 does, in both eras."""


def check_ways(seen: Json, site: Served, ways: Mapping[str, Way]) -> None:
    """Compare what a client saw of its refusals with what it should see."""
    assert list(seen) == list(ways)
    for title, (refused, then) in seen.items():
        assert "error" in refused, title  # `client` 2.4 reports one error without its code: a missing scope
        code = code_of(ways[title].error)
        assert refused["error"].get("code", code) in SHOWN_AS.get(code, (code,)), title
        assert then["result"]["structuredContent"] == OUTPUT, f"the call after {title}"
    audited = [way.error.__name__ for way in ways.values() if way.is_audited]
    assert site.endpoint.refusals() == audited


def code_of(error: type[ProtocolError]) -> int:
    """Return the code of an error; a workflow may choose its own."""
    return getattr(error, "code", 4001)


def check_talks(seen: Json) -> None:
    """Compare the questions to a user with the answers given."""
    for title, talk in TALKS.items():
        shown, then = seen[title]
        first, *more = shown["asked"]
        assert len(more) == len(talk["answers"]) - 1
        assert all(again.startswith(f"{first} (The answer before was not accepted: ") for again in more)
        assert not shown["result"]["isError"], shown
        assert then["result"]["structuredContent"] == OUTPUT, f"the call after {title}"


@pytest.fixture
def site() -> Iterator[Served]:
    """A new endpoint."""
    with served() as site:
        yield site


def test_every_error_is_tested_with_released_clients() -> None:
    tried = {way.error for way in WAYS.values()}

    assert leaves() <= tried | set(BEFORE_THE_MESSAGE) | set(AFTER_GIVING_UP) | OF_EXTRAS | OF_URLS
    assert not tried & set(BEFORE_THE_MESSAGE)


def test_every_error_after_a_valid_legacy_message_has_status_200() -> None:
    assert {error.legacy_status for error in leaves()} == {200}


@tried_with(Trial.REFUSALS)
def test_a_refused_client_makes_one_more_call_in_the_same_session(site: Served, client: Client) -> None:
    ways = ways_of(client)

    seen = client.sees(site.url, ways={title: way.requests for title, way in ways.items()}, then=THEN)

    check_ways(seen["ways"], site, ways)


@tried_with(Trial.QUESTIONS)
def test_a_user_who_answers_wrongly_is_asked_again(site: Served, client: Client) -> None:
    talks = {title: {"arguments": {"text": "hello"}, **talk} for title, talk in TALKS.items()}

    seen = client.sees(site.url, talks=talks, can_ask=True, then=THEN)

    check_talks(seen["talks"])
