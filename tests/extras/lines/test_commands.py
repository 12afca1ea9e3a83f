"""Operators see the lines of tools with a limit, pause, resume and drain them, and move a task to the front."""

from typing import Any, Final

import pytest

from stepwire.background.commands import TASKS, obeyed
from stepwire.errors import StoreBusy
from stepwire.extras.lines.commands import COMMANDS
from stepwire.extras.lines.limits import Concurrency, Rules, line_key
from tests.kits import ALICE, BOB, OPTIONAL, OUTPUT, World, catalog_of, keeping
from tests.server.clients import ModernClient

POOL: Final = OPTIONAL.name
KEY: Final = line_key(POOL)
TOOL: Final = keeping(OPTIONAL, lines=Concurrency(POOL, Rules(most=1)))


@pytest.fixture
def world() -> World:
    return World(catalog=catalog_of(TOOL))


def answer_to(world: World, command: str, **fields: Any) -> dict[str, Any]:
    """Give a command, and return the answer."""
    return obeyed({"command": command, **fields}, TASKS, COMMANDS, world.engine)


def command(world: World, command: str, **fields: Any) -> dict[str, Any]:
    """Give a command that is done."""
    return answer_to(world, command, **fields)["done"]


def restrict(world: World, verb: str, **more: Any) -> dict[str, Any]:
    """Pause, resume or drain the line."""
    return command(world, f"{verb}_line", line=POOL, **more)


def test_a_line_is_listed_while_somebody_waits(world: World) -> None:
    ModernClient(world).start("optional")
    before = command(world, "list_lines")
    ModernClient(world).start("optional")
    world.clock.advance(minutes=2)

    (line,) = command(world, "list_lines")["lines"]

    assert before == {"lines": [], "more": 0}
    assert line == {
        "line": KEY,
        "pool": POOL,
        "running": 1,
        "most": 1,
        "waiting": 1,
        "firstWaitsMs": 120_000,
        "tookMs": None,
        "paused": False,
        "drained": False,
    }


@pytest.mark.parametrize("means", ["pause", "drain"])
def test_a_line_that_an_operator_has_restricted_is_listed_although_nobody_waits(world: World, means: str) -> None:
    ModernClient(world).start("optional")

    restrict(world, means)
    (line,) = command(world, "list_lines")["lines"]
    restrict(world, "resume")

    assert (line["pool"], line["waiting"], line["paused"], line["drained"]) == (
        POOL, 0, means == "pause", means == "drain"
    )  # fmt: skip
    assert command(world, "list_lines") == {"lines": [], "more": 0}


def test_a_line_is_shown_with_its_callers(world: World) -> None:
    for owner in (ALICE, ALICE, BOB, BOB, BOB):
        ModernClient(world, owner).start("optional")

    shown = command(world, "show_line", line=KEY)

    assert shown["callers"] == [{"principal": BOB, "waiting": 3}, {"principal": ALICE, "waiting": 1}]


def test_a_paused_line_lets_nobody_begin_until_it_is_resumed(world: World) -> None:
    client = ModernClient(world)
    first, second = client.start("optional"), client.start("optional")

    restrict(world, "pause")
    world.succeed(first, OUTPUT)
    third = client.call("optional").result
    while_paused = len(world.workflows.running())
    restrict(world, "resume")

    assert while_paused == 0
    assert third["statusMessage"] == "2nd in line; the line is paused by its operator."
    assert second in world.workflows.running()[0].name


def test_a_line_that_nobody_has_used_can_be_paused_before_the_first_call(world: World) -> None:
    refused = answer_to(world, "pause_line", line=POOL)
    restrict(world, "pause", is_new=True)

    called = ModernClient(world).call("optional").result

    assert refused["refused"].endswith("To pause a line before the first call of its tool, add --before-first-call.")
    assert called["statusMessage"] == "Next in line; the line is paused by its operator."


def test_a_drained_line_refuses_calls_and_lets_those_begin_who_wait(world: World) -> None:
    client = ModernClient(world)
    first, second = client.start("optional"), client.start("optional")

    restrict(world, "drain")
    refused = client.call("optional")
    world.succeed(first, OUTPUT)

    assert refused.code == -31002
    assert "its operator has closed it" in refused.error["message"]
    assert second in world.workflows.running()[0].name


def test_a_task_that_is_moved_to_the_front_is_next(world: World) -> None:
    client = ModernClient(world)
    first, _, _, last = (client.start("optional") for _ in range(4))

    answers = [command(world, "move_to_front", owner=ALICE, task_id=last) for _ in range(2)]
    world.succeed(first, OUTPUT)

    assert last in world.workflows.running()[0].name
    assert [one["position"] for one in answers] == [1, 1]
    assert world.lines.states[KEY].waiting == 2


@pytest.mark.parametrize(
    ("name", "fields", "reason"),
    [
        ("show_line", {"line": "nothing"}, "There is no line nothing, or nobody has called a tool with that limit"),
        ("pause_line", {"line": "nothing"}, "There is no line nothing, or nobody has called a tool with that limit"),
        ("drain_line", {"line": "nothing"}, "To drain a line before the first call of its tool"),
        ("resume_line", {"line": "nothing"}, "There is no line nothing"),
        ("pause_line", {"line": "line#0", "is_new": True}, "There is no line line#0."),
        ("pause_line", {"line": "line#0"}, "There is no line line#0."),
    ],
)
def test_a_command_that_cannot_be_done_is_refused_with_the_reason(
    world: World, name: str, fields: dict[str, Any], reason: str
) -> None:
    assert reason in answer_to(world, name, **fields)["refused"]


def test_a_task_that_does_not_wait_cannot_be_moved(world: World) -> None:
    task_id = ModernClient(world).start("optional")

    answer = answer_to(world, "move_to_front", owner=ALICE, task_id=task_id)

    assert answer == {"refused": "The task does not wait in a line."}


def test_a_command_meets_changes_of_others_and_is_repeated(world: World) -> None:
    client = ModernClient(world)
    _, _, last = (client.start("optional") for _ in range(3))
    world.lines.before_see = refuse

    answer = answer_to(world, "move_to_front", owner=ALICE, task_id=last)

    assert answer["done"]["position"] == 1


def test_a_command_that_meets_nothing_else_says_what_to_do(world: World) -> None:
    client = ModernClient(world)
    _, last = (client.start("optional") for _ in range(2))
    world.lines.is_available = False

    answer = answer_to(world, "move_to_front", owner=ALICE, task_id=last)

    assert answer == {
        "refused": "Others change the same items all the time, so perhaps nothing was done. Repeat the command."
    }


def refuse() -> None:
    raise StoreBusy
