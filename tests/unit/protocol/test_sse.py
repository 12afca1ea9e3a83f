"""Bodies of server-sent events, as the strictest and the most lenient parsers read them."""

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwire.json_text import Json, parse, write
from stepwire.protocol.http import ServerSentEvent, body_of
from tests.strategies import json_values

LINE_ENDS: Final = "\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""All characters that some parser treats as a line end."""

texts = st.text(st.sampled_from(LINE_ENDS) | st.characters(exclude_categories=["Cs"]))
values = json_values | st.lists(texts) | st.dictionaries(texts, texts)


def read(body: str) -> list[dict[str, str]]:
    """Parse a body as Python clients do that split it with str.splitlines."""
    events: list[dict[str, str]] = [{}]
    for line in body.splitlines():
        if line:
            name, _, value = line.partition(": ")
            assert name not in events[-1]
            events[-1][name] = value
        else:
            events.append({})
    return events[:-1]


@given(st.lists(values))
def test_every_event_is_read_back_whatever_its_data(told: list[Json]) -> None:
    body = body_of(ServerSentEvent(write(value), f"id-{number}") for number, value in enumerate(told))

    assert [event["id"] for event in read(body)] == [f"id-{number}" for number in range(len(told))]
    assert [parse(event["data"]) for event in read(body)] == told


@given(values)
def test_a_body_has_no_line_end_other_than_lf(value: Json) -> None:
    body = body_of([ServerSentEvent(write(value), "1")])

    assert body.splitlines() == body.split("\n")[:-1]
    assert len(body.splitlines()) == 3


@pytest.mark.parametrize("character", "\x85\u2028\u2029")
def test_a_character_that_some_parsers_treat_as_a_line_end_is_escaped(character: str) -> None:
    body = body_of([ServerSentEvent(write({character: character}))])

    assert body.isprintable() or body.count("\n") == 2
    assert parse(body.removeprefix("data: ")) == {character: character}


@pytest.mark.parametrize(
    ("events", "retry_ms", "body"),
    [
        ([ServerSentEvent("{}", "1")], 0, "retry: 0\n\nid: 1\ndata: {}\n\n"),
        ([ServerSentEvent("{}", "1")], None, "id: 1\ndata: {}\n\n"),
        ([ServerSentEvent("{}")], None, "data: {}\n\n"),
        # A released client forgets the id of an event without data.
        ([ServerSentEvent(id="1")], None, "id: 1\ndata: \n\n"),
        ([], None, ""),
    ],
)
def test_a_body_has_the_fields_that_are_given(events: list[ServerSentEvent], retry_ms: int | None, body: str) -> None:
    assert body_of(events, retry_ms) == body
