"""The command at a terminal: questions, Ctrl-C at every moment, widths, and terminals without colours."""

import asyncio
import re
from collections.abc import Iterator

import pytest
from mcp_types import ElicitRequestParams, ElicitResult

from packages.command.tests.terminal import CTRL_C, CTRL_D, Session, at_a_terminal
from stepwire.json_text import write
from stepwire_cli.exits import Exit
from stepwire_client import Callbacks, InputRequired, connect
from tests.clients.endpoint import Endpoint, Served, served

ASKS = "[A/d/c] "
AMOUNT = "  amount\n  > "
FIELD = "  > "


@pytest.fixture(scope="module")
def there() -> Iterator[Served]:
    """An endpoint whose tools end, ask and fail as their names say."""
    with served() as there:
        yield there


@pytest.fixture
def endpoint(there: Served) -> Endpoint:
    """What serves it."""
    return there.endpoint


@pytest.fixture
def environment(there: Served) -> dict[str, str]:
    """The variables of the person."""
    return {"STEPWIRE_URL": there.url, "STEPWIRE_HOME": "/nonexistent"}


def task_in(session: Session) -> str:
    """Return the id of the task that a session shows."""
    found = re.search(r"task (\w{20,})", session.text)
    assert found, session.text
    return found[1]


def test_a_form_is_filled_and_a_wrong_value_is_asked_for_again(environment: dict[str, str]) -> None:
    typed = [(ASKS, "\n"), (FIELD, "700\n"), (FIELD, "many\n"), (FIELD, "7\n"), (FIELD, "Fine.\n")]

    session = at_a_terminal(["call", "asking", "text=hi"], typed, environment=environment)

    assert session.code == Exit.DONE
    assert "amount: 700 is greater than the maximum of 100." in session.text
    assert "amount: 'many' is no integer." in session.text
    assert '"amount": 7,' in session.text
    assert '"note": "Fine."' in session.text


@pytest.mark.parametrize(("key", "action"), [("d", "decline"), pytest.param("c", "cancel", marks=pytest.mark.long)])
def test_a_question_is_declined_or_closed(environment: dict[str, str], key: str, action: str) -> None:
    session = at_a_terminal(["call", "asking", "text=hi"], [(ASKS, f"{key}\n")], environment=environment)

    assert session.code == Exit.DONE
    assert f'"action": "{action}"' in session.text


@pytest.mark.parametrize("key", [CTRL_C, pytest.param(CTRL_D, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "at",
    [pytest.param([], id="at the question"), pytest.param([(ASKS, "\n")], id="in the form", marks=pytest.mark.long)],
)
def test_a_question_is_left_open(
    environment: dict[str, str], endpoint: Endpoint, key: str, at: list[tuple[str, str]]
) -> None:
    last = FIELD if at else ASKS

    session = at_a_terminal(["call", "asking", "text=hi"], [*at, (last, key)], environment=environment)

    assert session.code == Exit.WAITING
    assert f"stepwire tasks answer {task_in(session)}" in session.text
    assert endpoint.workflows.running()


@pytest.mark.long
def test_what_is_left_open_is_answered_later(environment: dict[str, str]) -> None:
    left = at_a_terminal(["call", "asking", "text=hi"], [(ASKS, CTRL_C)], environment=environment)

    answered = at_a_terminal(
        ["tasks", "answer", task_in(left)], [(ASKS, "\n"), (FIELD, "5\n"), (FIELD, "\n")], environment=environment
    )

    assert answered.code == Exit.DONE
    assert "The answer was taken; it is completed." in answered.text


def answered_elsewhere(url: str, task_id: str, *, is_cancelled: bool) -> None:
    """Answer the question of a task, or cancel it, with another client."""

    async def act() -> None:
        async with connect(url, callbacks=Callbacks(elicit=nobody)) as client:
            state = await client.get_task(task_id)
            assert isinstance(state, InputRequired)
            if is_cancelled:
                await client.cancel_task(task_id)
            else:
                await client.update_task(task_id, dict.fromkeys(state.questions, ElicitResult(action="decline")))

    asyncio.run(act())


async def nobody(_params: ElicitRequestParams) -> ElicitResult:
    """Answer nothing; whoever declares no question is shown none."""
    raise NotImplementedError


@pytest.mark.parametrize("command", ["call", "answer"])
@pytest.mark.parametrize(
    ("is_cancelled", "code", "shown"),
    [
        pytest.param(False, {"call": Exit.DONE, "answer": Exit.FAILED}, '"action": "decline"', id="answered"),
        pytest.param(True, {"call": Exit.FAILED, "answer": Exit.FAILED}, "cancelled", id="cancelled"),
    ],
)
def test_a_prompt_ends_when_its_question_is_not_open_any_more(
    there: Served, environment: dict[str, str], command: str, *, is_cancelled: bool, code: dict[str, Exit], shown: str
) -> None:
    words, task_id = ["call", "asking", "text=hi"], ""
    if command == "answer":
        task_id = task_in(at_a_terminal([*words, "--detach"], environment=environment))
        words = ["tasks", "answer", task_id]

    def elsewhere(session: Session) -> None:
        answered_elsewhere(there.url, task_id or task_in(session), is_cancelled=is_cancelled)

    session = at_a_terminal(words, [(ASKS, "\n"), (FIELD, elsewhere)], environment=environment)

    assert "The question is not open any more" in session.text
    assert session.code == code[command]
    assert (shown if command == "call" else "The task asks nothing; it is ") in session.text
    assert "Traceback" not in session.text


def test_what_is_not_confirmed_does_not_begin(environment: dict[str, str], endpoint: Endpoint) -> None:
    before = len(endpoint.workflows.starts)

    session = at_a_terminal(["call", "confirmed", "text=hi"], [(ASKS, CTRL_C)], environment=environment)

    assert session.code == Exit.WAITING
    assert session.lines[-2].endswith("which was left open. Nothing was started or decided.")
    assert len(endpoint.workflows.starts) == before


@pytest.mark.parametrize("key", ["\n", CTRL_C, pytest.param(CTRL_D, marks=pytest.mark.long)])
def test_ctrl_c_leaves_the_task_running_and_says_how_to_come_back(environment: dict[str, str], key: str) -> None:
    session = at_a_terminal(
        ["call", "endless", "text=hi"], [("working", CTRL_C), ("[L/c] ", key)], environment=environment
    )

    assert session.code == Exit.STOPPED
    assert f"  stepwire tasks watch {task_in(session)}" in session.lines


@pytest.mark.parametrize("command", ["call", pytest.param("watch", marks=pytest.mark.long)])
def test_ctrl_c_can_cancel_the_task(environment: dict[str, str], command: str) -> None:
    if command == "call":
        words = ["call", "endless", "text=hi"]
    else:
        left = at_a_terminal(["call", "endless", "text=hi", "--detach"], environment=environment)
        words = ["tasks", "watch", task_in(left)]

    session = at_a_terminal(words, [("working", CTRL_C), ("[L/c] ", "c\n")], environment=environment)

    assert session.code == Exit.STOPPED
    assert f"The task {task_in(session)} is cancelled." in session.text


@pytest.mark.parametrize("width", [80, pytest.param(200, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["tools"], id="tools", marks=pytest.mark.long),
        pytest.param(["tasks", "list"], id="tasks list", marks=pytest.mark.long),
        pytest.param(["call", "instant", "text=hi"], id="call"),
    ],
)
def test_no_line_is_wider_than_the_terminal(environment: dict[str, str], words: list[str], width: int) -> None:
    session = at_a_terminal(words, width=width, environment=environment)

    assert session.code == Exit.DONE
    assert max(map(len, session.lines)) <= width


@pytest.mark.parametrize(
    "variables",
    [
        pytest.param({"NO_COLOR": "1"}, id="NO_COLOR"),
        pytest.param({"TERM": "dumb"}, id="a dumb terminal", marks=pytest.mark.long),
    ],
)
def test_a_terminal_without_colours_gets_none(environment: dict[str, str], variables: dict[str, str]) -> None:
    session = at_a_terminal(
        ["tools"],
        environment={**environment, **variables},
    )

    assert session.code == Exit.DONE
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", session.raw)


@pytest.mark.long
def test_no_control_character_of_a_server_reaches_the_terminal(environment: dict[str, str]) -> None:
    text = "\x1b]0;title\x07 \x1b[31m red"

    session = at_a_terminal(["call", "confirmed", f"text:={write(text)}"], [(ASKS, "d\n")], environment=environment)

    assert "\x1b]0" not in session.raw
    assert "\x1b[31m red" not in session.raw
