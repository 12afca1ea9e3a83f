"""The sessions of legacy clients: the content of a token, and that a forged one is refused or harmless."""

import base64
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwire.errors import UnknownSession
from stepwire.json_text import Json, JsonObject
from stepwire.protocol.sessions import RANDOM_BYTES, Session, session_id_of, session_of
from stepwire.protocol.tokens import LONGEST, wrap
from tests.strategies import json_objects, json_values

VERSION: Final = "2025-11-25"
RANDOM: Final = bytes(range(RANDOM_BYTES))

params: st.SearchStrategy[JsonObject] = json_objects | st.fixed_dictionaries(
    {}, optional={"clientInfo": json_values | st.fixed_dictionaries({"name": json_values}), "capabilities": json_values}
)


def begun(**given: Any) -> Session:
    """Start a session with these params; return its parsed token."""
    return session_of(session_id_of(VERSION, given, RANDOM))


def is_refused(text: str) -> bool:
    """Tell whether a token is refused with the documented error."""
    try:
        session = session_of(text)
    except UnknownSession:
        return True
    assert session.id == text
    assert isinstance(session.version, str)
    assert isinstance(session.client_name, str)
    return False


# -------------------------------------------------------------------------------------------------------- what it says


def test_a_session_contains_what_its_client_declared() -> None:
    session = begun(
        clientInfo={"name": "an agent", "version": "1"},
        capabilities={"elicitation": {"form": {}, "url": {}}, "roots": {"listChanged": True}},
    )

    assert session.version == VERSION
    assert session.client_name == "an agent"
    assert session.capabilities == {"elicitation": {"form": {}, "url": {}}, "roots": {}}


@given(params)
def test_the_session_of_any_declaration_can_be_read(given_params: JsonObject) -> None:
    written = session_id_of(VERSION, given_params, RANDOM)

    session = session_of(written)

    assert (session.version, session.id) == (VERSION, written)
    assert written.isascii()
    assert written.isprintable()
    assert len(written) <= LONGEST


@pytest.mark.parametrize(
    ("name", "shown"), [(None, ""), (7, ""), (["a"], ""), ("", ""), ("x" * 65, "x" * 64), ("grüße", "grüße")]
)
def test_a_name_is_a_string_of_bounded_length(name: Json, shown: str) -> None:
    assert begun(clientInfo={"name": name}).client_name == shown


@pytest.mark.parametrize("capabilities", [None, [], "all", True, {"elicitation": True}, {"elicitation": []}])
def test_an_invalid_capability_is_ignored(capabilities: Json) -> None:
    assert begun(capabilities=capabilities).capabilities == {}


def test_which_requests_may_become_tasks_is_kept_and_nothing_that_deep_of_any_other_capability() -> None:
    deep: JsonObject = {"requests": {"elicitation": {"create": {"more": {}}}}, "cancel": {}}

    session = begun(capabilities={"tasks": deep, "sampling": deep, "experimental": {"tasks": deep}})

    assert session.capabilities == {
        "tasks": {"requests": {"elicitation": {"create": {}}}, "cancel": {}},
        "sampling": {"requests": {}, "cancel": {}},
        "experimental": {"tasks": {}},
    }


def test_tasks_that_are_declared_too_widely_do_not_make_a_long_token() -> None:
    names = [f"{number:02d}".ljust(64, "x") for number in range(20)]
    wide: JsonObject = {first: {second: {third: {} for third in names} for second in names} for first in names}

    session = begun(capabilities={"tasks": wide, "elicitation": {}})

    assert len(session.id) <= LONGEST
    assert session.capabilities == {"tasks": {}, "elicitation": {}}


def test_large_capabilities_are_cut_to_their_top_level() -> None:
    settings: JsonObject = {f"{number:02d}" + "s" * 60: {} for number in range(16)}
    declared: JsonObject = {"elicitation": {}, **{f"capability {number}": settings for number in range(15)}}

    session = begun(capabilities=declared)

    assert session.capabilities == {name: {} for name in declared}


def test_too_large_capabilities_are_dropped() -> None:
    declared: JsonObject = {f"{number:02d}" + "\x01" * 60: {} for number in range(16)}

    session = begun(clientInfo={"name": "\x01" * 64}, capabilities=declared)

    assert (session.client_name, session.capabilities) == ("", {})


def test_each_session_has_another_token() -> None:
    """L10."""
    assert session_id_of(VERSION, {}, b"1" * RANDOM_BYTES) != session_id_of(VERSION, {}, b"2" * RANDOM_BYTES)


def test_without_a_token_there_is_no_session() -> None:
    assert session_of(None) == Session()
    assert session_of(None).version is None


# ------------------------------------------------------------------------------------------------------------- forgery


@given(params, st.data())
def test_a_token_with_a_bit_flipped_is_refused_or_another_session(
    given_params: JsonObject, data: st.DataObject
) -> None:
    written = bytearray(session_id_of(VERSION, given_params, RANDOM).encode())
    place = data.draw(st.integers(0, len(written) - 1))
    written[place] ^= 1 << data.draw(st.integers(0, 7))

    is_refused(written.decode("latin-1"))


@given(params, st.data())
def test_a_truncated_token_is_refused(given_params: JsonObject, data: st.DataObject) -> None:
    written = session_id_of(VERSION, given_params, RANDOM)

    assert is_refused(written[: data.draw(st.integers(0, len(written) - 2))])


@given(st.text() | json_values.map(wrap) | st.binary().map(lambda some: base64.urlsafe_b64encode(some).decode()))
def test_any_text_as_a_token_is_refused_and_nothing_else_happens(text: str) -> None:
    assert is_refused(text)


@pytest.mark.parametrize(
    "fields",
    [
        [2, VERSION, "", "", {}, 0, ""],
        [1, None, "", "", {}, 0, ""],
        [1, VERSION, 7, "", {}, 0, ""],
        [1, VERSION, "", 7, {}, 0, ""],
        [1, VERSION, "", "", [], 0, ""],
        [1, VERSION, "", "", {}, 4, ""],
        [1, VERSION, "", "", {}, True, ""],
        [1, VERSION, "", "", {}, 0, 7],
        [1, VERSION, "", "", {}, 0],
        [1, VERSION, "", "", {}, 0, "", ""],
        [1, VERSION, "", "", {}, 0, "x" * LONGEST],
    ],
)
def test_an_unknown_field_is_refused(fields: Json) -> None:
    assert is_refused(wrap(fields))


@pytest.mark.parametrize("text", ["", "=", "a", "W10", " WzFd", "\u00e9", "\ud800", "[1]"])
def test_an_invalid_token_is_refused(text: str) -> None:
    assert is_refused(text)


# -------------------------------------------------------------------------------------------------------------- digests


def test_a_request_is_named_by_its_session_and_its_id_with_its_type() -> None:
    one, other = (session_of(session_id_of(VERSION, {}, random * RANDOM_BYTES)) for random in (b"1", b"2"))

    digests = {one.digest_of(1), one.digest_of("1"), one.digest_of(2), other.digest_of(1)}

    assert len(digests) == 4
    assert one.digest_of(1) == session_of(one.id).digest_of(1)


def test_a_request_without_a_session_has_no_name() -> None:
    assert Session().digest_of(1) is None
