"""Input at a terminal is converted to the types of the form, or requested again."""

import io
from typing import Any

import pytest
from mcp_types import ElicitRequestFormParams, ElicitRequestURLParams, ElicitResult
from rich.console import Console

from examples.terminal_user import User
from examples.waiting import Waiting

pytestmark = pytest.mark.anyio
Json = dict[str, Any]


async def entered(
    monkeypatch: pytest.MonkeyPatch,
    fields: Json,
    *lines: str,
    required: bool = True,
    printed: io.StringIO | None = None,
) -> ElicitResult:
    """Fill in a form with these lines."""
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
    schema = {"type": "object", "properties": fields, "required": list(fields) if required else []}
    console = Console(file=printed or io.StringIO())
    with Waiting(console) as status:
        user = User(console, status, by_itself=False)
        return await user.elicit(ElicitRequestFormParams(message="Well?", requested_schema=schema))


@pytest.mark.parametrize(
    ("field", "lines", "value"),
    [
        pytest.param({"type": "string"}, ["word"], "word", id="text"),
        pytest.param({"type": "string", "minLength": 3}, ["ab", "abc"], "abc", id="text that is too short at first"),
        pytest.param({"type": "string", "enum": ["S", "M"]}, ["X", "M"], "M", id="a choice"),
        pytest.param({"type": "number", "default": 2.5}, [""], 2.5, id="what is suggested"),
        pytest.param({"type": "number"}, ["many", "", "7"], 7, id="a number at last"),
        pytest.param({"type": "integer"}, ["1.5", "2"], 2, id="an integer"),
        pytest.param({"type": "boolean"}, ["perhaps", "Yes"], True, id="yes"),
        pytest.param({"type": "boolean", "default": False}, [""], False, id="no"),
        pytest.param({"type": "array", "items": {"enum": ["a", "b"]}}, ["a, b"], ["a", "b"], id="several choices"),
    ],
)
async def test_a_field_has_a_value_of_its_type(
    monkeypatch: pytest.MonkeyPatch, field: Json, lines: list[str], value: Any
) -> None:
    answer = await entered(monkeypatch, {"it": field}, "accept", *lines)

    assert answer == ElicitResult(action="accept", content={"it": value})


async def test_a_wrong_number_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = io.StringIO()

    await entered(monkeypatch, {"it": {"type": "number"}}, "accept", "abc", "7", printed=printed)

    assert "'abc' is no number." in printed.getvalue()


async def test_a_field_that_may_be_empty_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = await entered(monkeypatch, {"note": {"type": "string"}}, "accept", "", required=False)

    assert answer == ElicitResult(action="accept", content={})


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_user_who_does_not_accept_enters_nothing(monkeypatch: pytest.MonkeyPatch, action: Any) -> None:
    assert await entered(monkeypatch, {"it": {"type": "string"}}, action) == ElicitResult(action=action)


async def test_the_automatic_user_opens_no_page() -> None:
    console = Console(file=io.StringIO())
    user = User(console, Waiting(console), by_itself=True)

    answer = await user.elicit(ElicitRequestURLParams(message="Sign.", url="https://x.example", elicitation_id="1"))

    assert answer.action == "cancel"
    assert user.answers == [answer]
