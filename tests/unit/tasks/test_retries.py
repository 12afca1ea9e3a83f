"""Retry policies: which errors are matched, when the next attempt begins, and what its task says."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwire.tasks.runs import Attempt, Retry, begun_text, delay_before, matches, retry_text
from tests.fakes import START_OF_TIME

ALL = Retry(3, ("States.ALL",))
NOW = START_OF_TIME


@pytest.mark.parametrize(
    ("errors", "error", "is_matched"),
    [
        (("OutOfStock",), "OutOfStock", True),
        (("OutOfStock",), "outofstock", False),
        (("OutOfStock", "Busy"), "Busy", True),
        (("OutOfStock",), "States.Timeout", False),
        (("States.Timeout",), "States.Timeout", True),
        (("States.Timeout",), "States.HeartbeatTimeout", False),
        (("States.ALL",), "OutOfStock", True),
        (("States.ALL",), "", True),
        (("States.ALL",), "States.Timeout", True),
        (("States.ALL",), "States.TaskFailed", True),
        (("States.ALL",), "States.DataLimitExceeded", False),
        (("States.ALL",), "States.Runtime", False),
        (("States.ALL",), "Stepwire.ProtocolError", False),
        (("States.TaskFailed",), "OutOfStock", True),
        (("States.TaskFailed",), "States.Timeout", False),
        (("States.TaskFailed", "States.Timeout"), "States.Timeout", True),
        (("States.TaskFailed",), "States.Runtime", False),
        (("States.Runtime",), "States.Runtime", True),
        (("Stepwire.ProtocolError",), "Stepwire.ProtocolError", True),
    ],
)
def test_errors_are_matched_as_in_amazon_states_language(errors: tuple[str, ...], error: str, is_matched: bool) -> None:
    assert matches(errors, error) is is_matched


@pytest.mark.parametrize(
    ("policy", "seconds"),
    [
        (Retry(4, ("States.ALL",)), [1, 2, 4]),
        (Retry(4, ("States.ALL",), delay=timedelta(seconds=3), backoff=1.0), [3, 3, 3]),
        (
            Retry(4, ("States.ALL",), delay=timedelta(seconds=10), backoff=10.0, longest_delay=timedelta(minutes=1)),
            [10, 60, 60],
        ),
        (Retry(4, ("States.ALL",), delay=timedelta()), [0, 0, 0]),
        (Retry(4, ("States.ALL",), delay=timedelta(milliseconds=333), backoff=1.5), [0.333, 0.499, 0.749]),
    ],
)
def test_delays_grow_by_the_factor_up_to_the_longest(policy: Retry, seconds: list[float]) -> None:
    assert [delay_before(policy, number, "a task").total_seconds() for number in (2, 3, 4)] == seconds


def test_jitter_is_the_same_in_every_process_and_differs_between_tasks_and_attempts() -> None:
    policy = Retry(10, ("States.ALL",), delay=timedelta(minutes=1), backoff=1.0, has_jitter=True)

    delays = [delay_before(policy, number, seed) for seed in ("one", "two") for number in (2, 3, 4)]

    assert delays == [timedelta(milliseconds=one) for one in (47_266, 38_330, 33_636, 55_050, 46_897, 17_576)]


@given(st.text(), st.integers(2, 10))
def test_jitter_is_a_part_of_the_delay(seed: str, number: int) -> None:
    policy = Retry(10, ("States.ALL",), has_jitter=True)
    whole = delay_before(Retry(10, ("States.ALL",)), number, seed)

    assert timedelta() <= delay_before(policy, number, seed) < whole


@pytest.mark.parametrize(
    ("after", "delay", "text"),
    [
        ("OutOfStock", timedelta(seconds=250), "Attempt 2 of 3 after OutOfStock, next at 12:04:10 UTC."),
        ("OutOfStock", timedelta(), "Attempt 2 of 3 after OutOfStock."),
        ("", timedelta(hours=13), "Attempt 2 of 3 after an unnamed error, next at 2026-08-02 01:00:00 UTC."),
        ("x" * 256, timedelta(), f"Attempt 2 of 3 after {'x' * 80}."),
    ],
)
def test_a_task_says_which_attempt_is_next(after: str, delay: timedelta, text: str) -> None:
    attempt = Attempt(number=2, begins_at=NOW + delay, after=after)

    assert retry_text(attempt, ALL, NOW) == text
    assert begun_text(text, attempt, ALL, NOW + delay) == text.partition(", next at")[0].removesuffix(".") + "."
    assert begun_text("Half of it is done.", attempt, ALL, NOW + delay) == "Half of it is done."
