"""The place of a task in its line, in words."""

from datetime import timedelta

import pytest

from stepwire.tasks.line import InLine
from tests.fakes import START_OF_TIME


@pytest.mark.parametrize(
    ("position", "words"),
    [
        (1, "Next"),
        *((2, "2nd"), (3, "3rd"), (4, "4th"), (10, "10th"), (11, "11th"), (12, "12th"), (13, "13th"), (20, "20th")),
        *((21, "21st"), (22, "22nd"), (23, "23rd"), (101, "101st"), (111, "111th"), (1_002, "1,002nd")),
    ],
)
def test_a_place_is_an_ordinal_number(position: int, words: str) -> None:
    assert InLine(position).text(START_OF_TIME) == f"{words} in line."
    assert (
        InLine(position, is_paused=True).text(START_OF_TIME) == f"{words} in line; the line is paused by its operator."
    )


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "1 second"),
        (0.4, "1 second"),
        (1.6, "2 seconds"),
        (119, "119 seconds"),
        (120, "2 minutes"),
        (150, "2 minutes"),
        (151, "3 minutes"),
        (7_199, "120 minutes"),
        (7_200, "2 hours"),
        (172_799, "48 hours"),
        (172_800, "2 days"),
    ],
)
def test_a_wait_is_said_in_the_largest_unit_that_says_enough(seconds: float, words: str) -> None:
    place = InLine(2, START_OF_TIME + timedelta(seconds=seconds))

    assert place.text(START_OF_TIME) == f"2nd in line; about {words}."
