"""The command at a server that means harm: nothing is fetched for it, and nothing of it moves the terminal."""

import json
import unicodedata
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from packages.client.tests.hostile import hostile
from packages.command.tests.terminal import at_a_terminal
from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire.visible_text import visible
from stepwire_cli.__main__ import in_front
from stepwire_cli.app import run
from stepwire_cli.exits import Exit
from stepwire_cli.screen import Screen
from stepwire_cli.visible_text import plain
from tests.clients.endpoint import serving

HARM = "\u009b2J \u009d0;t\u009c \u202e \u007f \u2028 \u061c \xad \U000e0041"


@pytest.fixture(autouse=True)
def _own_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STEPWIRE_HOME", str(tmp_path))
    monkeypatch.delenv("STEPWIRE_TOKEN", raising=False)


@contextmanager
def watched() -> Generator[tuple[str, list[str]]]:
    """Serve a schema, and keep which paths were asked for."""
    asked = list[str]()

    def handle(request: HttpRequest) -> HttpResponse:
        asked.append(request.method)
        return HttpResponse(200, "{}", {"content-type": "application/json"})

    with serving(handle) as url:
        yield url, asked


def asks(field: object) -> Callable[[dict[str, Any]], None]:
    """Return a change that puts a field into the questions of a task."""

    def change(task: dict[str, Any]) -> None:
        for question in task.get("inputRequests", {}).values():
            question["params"]["requestedSchema"] = {"type": "object", "properties": {"v": field}}

    return change


def test_a_form_fetches_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with watched() as (elsewhere, asked), hostile(tasks_get=asks({"$ref": f"{elsewhere}/admin"})) as url:
        run(["--url", url, "call", "asking", "text=hi", "--detach"])
        task_id = capsys.readouterr().out.strip()

        code = run(["--url", url, "tasks", "answer", task_id, "v=1"])

        said = capsys.readouterr().err
        declined = run(["--url", url, "tasks", "answer", task_id, "--decline"])
    assert (code, asked) == (Exit.USAGE, [])
    assert "its field v refers to another schema ($ref), and nothing that a server names is read" in said
    assert declined == Exit.DONE


@pytest.mark.parametrize(
    ("field", "said"),
    [
        pytest.param({"anyOf": [{"$ref": "file:///etc/hostname"}]}, "refers to another schema", id="a file"),
        pytest.param({"type": "strange"}, "has a schema that is wrong", id="a type that is none"),
        pytest.param(7, "has no schema", id="no schema"),
    ],
)
def test_a_field_that_cannot_be_filled_in_is_told_in_a_line(
    field: object, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with hostile(tasks_get=asks(field)) as url:
        run(["--url", url, "call", "asking", "text=hi", "--detach"])
        task_id = capsys.readouterr().out.strip()

        code = run(["--url", url, "tasks", "answer", task_id, "v=1"])

    assert code == Exit.USAGE
    assert said in capsys.readouterr().err


@pytest.mark.long
def test_a_person_may_decline_what_cannot_be_filled_in() -> None:
    with hostile(tasks_get=asks({"$ref": "file:///etc/hostname"})) as url:
        session = at_a_terminal(
            ["--url", url, "call", "asking", "text=hi"],
            [("Decline, or close the question? [d/c] ", "d\n")],
            environment={"STEPWIRE_HOME": "/nonexistent"},
        )

    assert session.code == Exit.DONE
    assert "The form cannot be filled in: its field v refers to another schema" in session.text
    assert '"action": "decline"' in session.text


def describes(text: str) -> Callable[[dict[str, Any]], None]:
    """Return a change of the first tool's description."""

    def change(listed: dict[str, Any]) -> None:
        listed["tools"][0]["description"] = text

    return change


def test_json_has_no_invisible_character_and_stays_the_same_json(capsys: pytest.CaptureFixture[str]) -> None:
    with hostile(tools_list=describes(HARM)) as url:
        run(in_front(["tools", "--url", url, "--json"]))

    out = capsys.readouterr().out
    assert json.loads(out)[0]["description"] == HARM
    assert not [character for character in out.strip() if unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp")]


def test_the_command_and_the_layer_have_one_list_of_invisible_characters() -> None:
    every = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x110000))))

    assert plain(every) == visible(every, keep="\n\t"), "copy the list of stepwire/visible_text.py"


def says(text: str) -> Callable[[dict[str, Any]], None]:
    """Return a change of a task's status message."""

    def change(task: dict[str, Any]) -> None:
        task["statusMessage"] = text

    return change


def test_a_line_end_in_a_message_begins_no_line_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with hostile(tasks_get=says("fine\nerror: forged\nstatus   completed")) as url:
        run(["--url", url, "call", "endless", "text=hi", "--detach"])
        task_id = capsys.readouterr().out.strip()
        run(["--url", url, "tasks", "show", task_id])

    shown = capsys.readouterr().out
    assert "says     fine\n         error: forged\n         status   completed\n" in shown


def test_later_lines_of_an_error_are_indented(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(as_json=False)

    screen.error("one\nerror: forged")
    screen.progress("working", "one\ncompleted: forged")

    assert capsys.readouterr().err == "error: one\n  error: forged\nworking: one\n  completed: forged\n"


def polled_every(milliseconds: int) -> Callable[[dict[str, Any]], None]:
    """Return a change of the hint between polls."""

    def change(task: dict[str, Any]) -> None:
        task["pollIntervalMs"] = milliseconds

    return change


@pytest.mark.parametrize("milliseconds", [600_001, 10**17])
def test_a_wait_between_polls_has_an_end_and_is_told(milliseconds: int, capsys: pytest.CaptureFixture[str]) -> None:
    with hostile(tasks_get=polled_every(milliseconds)) as url:
        run(["--url", url, "call", "asking", "text=hi"])

    assert "asks for more than 10 min between two polls; it is asked every 10 min." in capsys.readouterr().err
