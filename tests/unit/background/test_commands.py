"""The one door for operators: names, rights and fields of commands, and what is refused."""

from typing import Any, Final

import pytest

from stepwire.background.commands import BUSY, TASKS, UNAVAILABLE, Command, Commands, Fields, OfTask, obeyed
from stepwire.engine.assembly import Engine
from stepwire.errors import CommandRefused, StoreBusy, WorkflowsUnavailable
from stepwire.json_text import JsonObject
from tests.kits import ALICE, World

ADMIN: Final = "arn:aws:sts::123456789012:assumed-role/operators/olga"
ID: Final = "01kyyk41g000000000000000000000000001"


def told(_engine: Engine, given: OfTask) -> JsonObject:
    return {"owner": given.owner, "task_id": given.task_id, "operator": given.operator}


def raising(fault: Exception) -> Commands:
    """Return a command that meets a fault."""

    def act(_engine: Engine, _given: Fields) -> JsonObject:
        raise fault

    return {"meet": Command(TASKS, Fields, act)}


COMMANDS: Final[Commands] = {"tell": Command(TASKS, OfTask, told), "ask": Command("others", Fields, told)}
EVENT: Final[dict[str, Any]] = {"command": "tell", "owner": ALICE, "task_id": ID}


def test_a_command_gets_its_fields_and_who_gives_it() -> None:
    answer = obeyed({**EVENT, "operator": ADMIN}, TASKS, COMMANDS, World().engine)

    assert answer == {"done": {"owner": ALICE, "task_id": ID, "operator": ADMIN}}


@pytest.mark.parametrize(
    ("changed", "right", "reason"),
    [
        ({"command": "nap"}, TASKS, "There is no command 'nap'. The commands are: ask, tell."),
        ({"command": None}, TASKS, "There is no command 'None'. The commands are: ask, tell."),
        ({}, "others", "The command tell is given by the alias tasks of this function."),
        ({}, "", "The command tell is given by the alias tasks of this function."),
        ({"command": "ask"}, TASKS, "The command ask is given by the alias others of this function."),
        ({"more": 1}, TASKS, "The command tell has the fields owner, task_id, operator. Object contains unknown field"),
        ({"owner": "x"}, TASKS, "The command tell has the fields owner, task_id, operator. Expected `str` matching"),
        ({"task_id": ID[1:]}, TASKS, "The command tell has the fields owner, task_id, operator. Expected `str`"),
        ({"operator": 1}, TASKS, "The command tell has the fields owner, task_id, operator. Expected `str | null`"),
    ],
)
def test_what_is_no_command_is_refused_and_the_known_ones_are_named(
    changed: dict[str, Any], right: str, reason: str
) -> None:
    answer = obeyed({**EVENT, **changed}, right, COMMANDS, World().engine)

    assert answer["refused"].startswith(reason)


def test_a_missing_field_is_named() -> None:
    answer = obeyed({"command": "tell", "owner": ALICE}, TASKS, COMMANDS, World().engine)

    assert answer["refused"].endswith("Object missing required field `task_id`.")


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (CommandRefused("Not now."), "Not now."),
        (StoreBusy(), BUSY),
        (WorkflowsUnavailable(), UNAVAILABLE),
    ],
)
def test_what_keeps_a_command_from_being_done_is_said_and_reported(fault: Exception, reason: str) -> None:
    world = World()

    answer = obeyed({"command": "meet"}, TASKS, raising(fault), world.engine)

    assert answer == {"refused": reason}
    assert world.troubles == ([] if isinstance(fault, CommandRefused) else [fault])
