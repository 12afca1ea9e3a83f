"""Positions on a stream: the content of an event id. Forged ones: `tests/server/test_forged_ids.py`."""

import base64
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwire.errors import InvalidRequest
from stepwire.json_text import LARGEST_INTEGER
from stepwire.protocol.messages import LONGEST_ID
from stepwire.protocol.tokens import LONGEST, StreamPosition, TaskNews, ToolRun, position_of, wrap
from tests.strategies import amounts, json_values, task_ids

counts = st.integers(0, LARGEST_INTEGER)
message_ids = st.text(max_size=LONGEST_ID) | st.integers(-LARGEST_INTEGER, LARGEST_INTEGER)
positions = st.builds(
    StreamPosition,
    message_ids,
    st.builds(TaskNews, task_ids, st.booleans(), counts, st.just(-1) | amounts, st.booleans(), st.booleans())
    | st.builds(ToolRun, st.text(max_size=20), st.just({"approval_id": "a"}), st.none() | st.text(max_size=20)),
    counts,
    counts,
    counts,
    counts,
    st.booleans(),
)


@given(positions)
def test_a_position_is_read_back_from_its_event_id_which_any_header_can_hold(position: StreamPosition) -> None:
    written = position.event_id()

    found = position_of(written)

    assert found == position
    assert type(found.message_id) is type(position.message_id)
    assert re.fullmatch(f"[!-~]{{1,{LONGEST}}}", written)


@given(st.text() | json_values.map(wrap) | st.binary().map(lambda some: base64.urlsafe_b64encode(some).decode()))
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        position_of(text)


def test_the_longest_message_id_still_makes_an_event_id_that_is_read() -> None:
    position = StreamPosition(
        "\x01" * LONGEST_ID, TaskNews("0" * 36, False, LARGEST_INTEGER, 1.2345678901234567e300), LARGEST_INTEGER
    )

    assert position_of(position.event_id()) == position
