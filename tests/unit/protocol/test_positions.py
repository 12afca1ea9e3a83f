"""Positions on a stream: the content of an event id, and that a forged one is refused or harmless."""

import base64
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwire.errors import InvalidRequest
from stepwire.json_text import LARGEST_INTEGER, Json
from stepwire.protocol.messages import LONGEST_ID
from stepwire.protocol.tokens import LONGEST, StreamPosition, position_of, wrap
from tests.strategies import amounts, json_values, task_ids

FIELDS: Final[list[Json]] = [1, "request", "0" * 36, 1, 1_785_585_600_000, 0.5, 2, 3, 0, 1_785_585_650_000, 0, 0, 0]

counts = st.integers(0, LARGEST_INTEGER)
message_ids = st.text(max_size=LONGEST_ID) | st.integers(-LARGEST_INTEGER, LARGEST_INTEGER)
positions = st.builds(
    StreamPosition,
    message_ids,
    task_ids,
    st.booleans(),
    counts,
    st.just(-1) | amounts,
    counts,
    counts,
    st.booleans(),
    counts,
    counts,
    st.booleans(),
    st.booleans(),
)


def is_refused(text: str) -> bool:
    """Tell whether an event id is refused with the documented error."""
    try:
        position = position_of(text)
    except InvalidRequest:
        return True
    assert isinstance(position.message_id, str | int)
    assert isinstance(position.task_id, str)
    assert min(position.updated, position.asked, position.polls) >= 0
    return False


@given(positions)
def test_a_position_is_read_back_from_its_event_id(position: StreamPosition) -> None:
    found = position_of(position.event_id())

    assert found == position
    assert type(found.message_id) is type(position.message_id)


@given(positions)
def test_an_event_id_is_printable_ascii_without_white_space(position: StreamPosition) -> None:
    written = position.event_id()

    assert written.isascii()
    assert written.isprintable()
    assert " " not in written
    assert len(written) <= LONGEST


def test_the_longest_message_id_still_makes_an_event_id_that_is_read() -> None:
    position = StreamPosition("\x01" * LONGEST_ID, "0" * 36, False, LARGEST_INTEGER, 1.2345678901234567e300)

    assert position_of(position.event_id()) == position


def test_the_number_1_and_the_text_1_are_different_ids() -> None:
    """M25."""
    one, other = StreamPosition(1, "0" * 36, False, 0), StreamPosition("1", "0" * 36, False, 0)

    assert position_of(one.event_id()) == one
    assert position_of(other.event_id()) == other
    assert one.event_id() != other.event_id()


@given(positions, st.data())
def test_an_event_id_with_a_bit_flipped_is_refused_or_another_position(
    position: StreamPosition, data: st.DataObject
) -> None:
    written = bytearray(position.event_id().encode())
    place = data.draw(st.integers(0, len(written) - 1))
    written[place] ^= 1 << data.draw(st.integers(0, 7))

    is_refused(written.decode("latin-1"))


@given(positions, st.data())
def test_a_truncated_event_id_is_refused(position: StreamPosition, data: st.DataObject) -> None:
    written = position.event_id()

    assert is_refused(written[: data.draw(st.integers(0, len(written) - 2))])


@given(st.text() | st.binary().map(lambda some: base64.urlsafe_b64encode(some).decode()))
def test_any_text_as_an_event_id_is_refused_and_nothing_else_happens(text: str) -> None:
    assert is_refused(text)


@given(json_values)
def test_any_json_as_an_event_id_is_refused(value: Json) -> None:
    assert is_refused(wrap(value))


@given(st.integers(0, len(FIELDS) - 1), json_values)
def test_a_forged_field_is_refused_or_of_the_right_type(place: int, forged: Json) -> None:
    fields = [*FIELDS]
    fields[place] = forged

    is_refused(wrap(fields))


@pytest.mark.parametrize(
    ("place", "forged"),
    [
        (0, 0),
        (0, 2),
        (0, None),
        (1, None),
        (1, 1.5),
        (1, True),
        (1, "x" * (LONGEST_ID + 1)),
        (2, 7),
        (3, 2),
        (3, True),
        (4, -1),
        (4, 0.5),
        (4, True),
        (5, "0"),
        (5, True),
        (5, None),
        (6, -1),
        (7, "0"),
        (8, False),
        (9, -1),
        (9, True),
        (10, None),
        (11, 2),
        (12, True),
    ],
)
def test_an_unknown_field_is_refused(place: int, forged: Json) -> None:
    fields = [*FIELDS]
    fields[place] = forged

    assert is_refused(wrap(fields))


@pytest.mark.parametrize("fields", [FIELDS[:-1], [*FIELDS, 0], dict(enumerate(FIELDS)), [FIELDS], []])
def test_json_of_another_shape_is_refused(fields: Json) -> None:
    assert is_refused(wrap(fields))


def test_an_event_id_above_the_maximum_length_is_refused() -> None:
    fields = [*FIELDS[:2], "0" * LONGEST, *FIELDS[3:]]

    with pytest.raises(InvalidRequest, match="not issued by this server"):
        position_of(wrap(fields))


@pytest.mark.parametrize("text", ["", "=", "====", "a", "W10", "Wz\n", " WzFd", "WzF\u00e9", "\u0661", "\ud800", "[1]"])
def test_an_invalid_event_id_is_refused(text: str) -> None:
    assert is_refused(text)
