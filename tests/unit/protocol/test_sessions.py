"""The sessions of legacy clients: the content of a token. Forged ones: `tests/server/test_forged_ids.py`."""

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwire.json_text import Json, JsonObject
from stepwire.protocol.sessions import RANDOM_BYTES, Session, session_id_of, session_of
from stepwire.protocol.tokens import LONGEST
from tests.strategies import json_objects, json_values

VERSION: Final = "2025-11-25"
RANDOM: Final = bytes(range(RANDOM_BYTES))

params: st.SearchStrategy[JsonObject] = json_objects | st.fixed_dictionaries(
    {}, optional={"clientInfo": json_values | st.fixed_dictionaries({"name": json_values}), "capabilities": json_values}
)


def begun(**given: Any) -> Session:
    """Start a session with these params; return its parsed token."""
    return session_of(session_id_of(VERSION, given, RANDOM))


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
    session = begun(clientInfo={"name": name, "version": name})

    assert (session.client_name, session.client_version) == (shown, shown[:32])


DEEP: Final[JsonObject] = {"requests": {"elicitation": {"create": {"more": {}}}}, "cancel": {}}
NAMES: Final = [f"{number:02d}".ljust(64, "x") for number in range(20)]
WIDE: Final[JsonObject] = {first: {second: {third: {} for third in NAMES} for second in NAMES} for first in NAMES}
LARGE: Final[JsonObject] = {
    "elicitation": {},
    **{f"capability {number}": dict.fromkeys(NAMES[:16], JsonObject()) for number in range(15)},
}


DECLARED: Final[list[tuple[Json, JsonObject]]] = [
    (None, {}),
    ([], {}),
    ("all", {}),
    (True, {}),
    ({"elicitation": True}, {}),
    ({"elicitation": []}, {}),
    (
        {"elicitation": {"form": {}, "url": {}}, "roots": {"listChanged": True}},
        {"elicitation": {"form": {}, "url": {}}, "roots": {}},
    ),
    (  # which requests may become tasks is kept, and nothing that deep of any other capability
        {"tasks": DEEP, "sampling": DEEP, "experimental": {"tasks": DEEP}},
        {
            "tasks": {"requests": {"elicitation": {"create": {}}}, "cancel": {}},
            "sampling": {"requests": {}, "cancel": {}},
            "experimental": {"tasks": {}},
        },
    ),
    # What makes a token too long is cut to its top level, or dropped.
    ({"tasks": WIDE, "elicitation": {}}, {"tasks": {}, "elicitation": {}}),
    (LARGE, {name: {} for name in LARGE}),
    ({f"{number:02d}" + "\x01" * 60: {} for number in range(16)}, {}),
]


@pytest.mark.parametrize(("declared", "held"), DECLARED)
def test_a_session_holds_the_names_of_what_its_client_declared(declared: Json, held: JsonObject) -> None:
    session = begun(clientInfo={"name": "\x01" * 64, "version": "1"}, capabilities=declared)

    assert (session.version, session.capabilities) == (VERSION, held)
    assert len(session.id) <= LONGEST


def test_a_token_may_have_the_longest_length_and_a_longer_one_is_cut() -> None:
    inner = [dict.fromkeys([*NAMES[:11], "x" * at], JsonObject()) for at in range(65)]
    outer = dict.fromkeys(NAMES[1:16], JsonObject())

    lengths = {len(begun(capabilities={"elicitation": one, **outer}).id) for one in inner}

    assert max(lengths) == LONGEST
    assert min(lengths) < LONGEST - 1000


def test_a_declaration_that_is_too_long_goes_with_the_names_of_the_client() -> None:
    names = {f"{number:02d}" + "\x01" * 60: JsonObject() for number in range(16)}

    session = begun(clientInfo={"name": "a", "version": "1"}, capabilities=names)

    assert (session.client_name, session.client_version, session.capabilities) == ("", "", {})


def test_a_request_is_named_by_its_session_and_its_id_with_its_type() -> None:
    one, other = (session_of(session_id_of(VERSION, {}, random * RANDOM_BYTES)) for random in (b"1", b"2"))

    digests = {one.digest_of(1), one.digest_of("1"), one.digest_of(2), other.digest_of(1)}

    assert len({one.id, other.id}) == 2  # L10: each session has another token
    assert len(digests) == 4
    assert Session().digest_of(1) is None
    assert one.digest_of(1) == session_of(one.id).digest_of(1)
