"""The requestState of a call: signed, bound to its call, and valid for a limited time."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepwire.errors import InvalidRequestState
from stepwire.json_text import JsonObject
from stepwire.protocol.tokens import (
    LONGEST_STATE,
    NO_PROGRESS_SENT,
    Continuation,
    Kind,
    Subject,
    continuation_of,
    payload_of,
    sign,
    state_of,
)
from stepwire.tasks.inputs import LONGEST_CONFIRMATION
from tests.fakes import START_OF_TIME
from tests.kits import ALICE
from tests.strategies import json_objects, moments, principals, task_ids

SECRET: Final = b"a secret"
SUBJECT: Final = Subject(ALICE, "refund", {"order": 7, "why": "broken"})
CONTINUATION: Final = Continuation(Kind.CONFIRM, "0" * 36)
UNTIL: Final = START_OF_TIME + LONGEST_CONFIRMATION
ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."

continuations = st.builds(
    Continuation,
    st.sampled_from(Kind),
    task_ids,
    st.integers(0, 10_000),
    st.floats(0, 2**53) | st.just(NO_PROGRESS_SENT),
)
subjects = st.builds(Subject, principals, st.text(max_size=128), json_objects)


def issued(subject: Subject = SUBJECT) -> str:
    return state_of(CONTINUATION, subject, UNTIL, SECRET)


def is_refused(state: str, subject: Subject = SUBJECT, secret: bytes = SECRET) -> bool:
    """Tell whether a requestState is refused with the documented error."""
    try:
        continuation_of(state, subject, START_OF_TIME, secret)
    except InvalidRequestState:
        return True
    return False


# ------------------------------------------------------------------------------------------------------------ the sign


@given(json_objects, st.binary(min_size=1, max_size=32), st.binary(min_size=1, max_size=32))
def test_a_state_signed_with_another_secret_is_refused(payload: JsonObject, secret: bytes, other: bytes) -> None:
    """M45."""
    # HMAC does not distinguish a secret from the same secret with zeros appended.
    assume(secret.rstrip(b"\0") != other.rstrip(b"\0"))

    with pytest.raises(InvalidRequestState):
        payload_of(sign(payload, secret), other)


def test_a_state_with_one_changed_character_is_refused() -> None:
    """M45."""
    state = issued()

    for place, before in enumerate(state):
        for character in {*ALPHABET} - {before}:
            assert is_refused(state[:place] + character + state[place + 1 :])


@given(st.text(min_size=1), st.integers(0, len(issued()) - 1))
def test_any_text_is_refused_alone_or_appended_and_a_part_of_a_state_too(text: str, length: int) -> None:
    assert is_refused(text)
    assert is_refused(issued() + text)
    assert is_refused(issued()[:length])


def test_a_forged_payload_is_refused() -> None:
    forged = base64.urlsafe_b64encode(b'{"kind":"confirm"}').decode().rstrip("=")
    body, tag = issued().partition(".")[0], issued(replace(SUBJECT, tool="other")).partition(".")[2]

    assert is_refused(forged)
    assert is_refused(f"{forged}.")
    assert is_refused(sign({"kind": "confirm"}, b""))
    assert is_refused(f"{body}.{tag}")


def test_a_state_of_another_release_and_one_that_has_expired_say_to_call_again() -> None:
    other, expired = sign({"kind": "confirm"}, SECRET), issued()

    with pytest.raises(InvalidRequestState, match=r"^The requestState cannot be read: call the tool again without it"):
        continuation_of(other, SUBJECT, START_OF_TIME, SECRET)
    with pytest.raises(InvalidRequestState, match=r"^The requestState has expired: call the tool again without it"):
        continuation_of(expired, SUBJECT, UNTIL, SECRET)


def test_a_state_above_the_maximum_length_is_refused() -> None:
    assert is_refused(sign({"kind": "x" * LONGEST_STATE}, SECRET))


# --------------------------------------------------------------------------------------------------------- what it says


@given(continuations, subjects, moments)
@example(CONTINUATION, SUBJECT, datetime(4706, 3, 17, 23, 36, 15, 798995, UTC))
def test_a_call_continues_from_its_state(continuation: Continuation, subject: Subject, at: Any) -> None:
    state = state_of(continuation, subject, at + timedelta(milliseconds=1), SECRET)

    assert continuation_of(state, subject, at, SECRET) == continuation
    assert state.isascii()
    assert state.isprintable()
    assert len(state) <= LONGEST_STATE


def test_a_state_contains_no_arguments() -> None:
    """The caller has the arguments, which may be as large as a workflow's input."""
    small, large = issued(), issued(replace(SUBJECT, arguments={"text": "x" * 250_000}))

    assert len(small) == len(large)
