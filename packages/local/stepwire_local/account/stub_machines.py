"""State machines that are stubs: each has one state, and its stub answers for all of it.

They stand for state machines that are known by their ARN alone. The rules: they are of type STANDARD, and their owner's
consent is taken for granted, because a tag of the real one cannot be read here.
"""

import json
from typing import Any, Final

from moto.stepfunctions.parser.models import stepfunctions_parser_backends

from stepwire_local.account.tasks import found, is_here, machine_of, names_of_target
from stepwire_local.errors import StubError
from stepwire_local.stubs.book import Book
from stepwire_local.stubs.owners import Owned, register

RESOURCE: Final = "arn:aws:states:::stepwire:stub"
_made: dict[str, Book] = {}  # by ARN
_CONSENT: Final = "stepwire:endpoint"


def definition() -> str:
    """Return the definition of a state machine that is a stub."""
    state = {"Type": "Task", "Resource": RESOURCE, "Parameters": {"Input.$": "$"}, "End": True}
    return json.dumps({"StartAt": "Stub", "States": {"Stub": state}})


def is_machine(name: str) -> bool:
    """Return whether the name of a stub is the ARN of a state machine."""
    return name.startswith("arn:") and ":states:" in name and ":stateMachine:" in name


def ensure(arn: str, book: Book) -> bool:
    """Create a state machine that is not here, if it has a stub; return whether it was created.

    Raises:
        StubError: it cannot be created.
    """
    machine = machine_of(arn)
    qualifier = arn.removeprefix(machine).lstrip(":")
    if machine in _made:
        _qualify(found(machine), qualifier)
    if is_here(machine) or book.find([arn, *names_of_target(machine)]) is None:
        return False
    region, account, name = machine.split(":")[3], machine.split(":")[4], machine.split(":")[6]
    try:
        made = stepfunctions_parser_backends[account][region].create_state_machine(
            name=name,
            definition=definition(),
            roleArn=f"arn:aws:iam::{account}:role/stub",
            tags=[{"key": _CONSENT, "value": book.endpoint}],
        )
    except KeyError:
        raise StubError(f"{arn}: there is no Region {region}.") from None
    _qualify(made, qualifier)
    register(machine, Owned(book, (name, arn)))
    _made[machine] = book
    return True


def _qualify(machine: Any, qualifier: str) -> None:
    """Give a state machine the version or the alias that its ARN names."""
    if not qualifier:
        return
    if not machine.versions:
        machine.publish(None)
    version = next(iter(machine.versions.values()))
    if qualifier.isdecimal():
        machine.versions[int(qualifier)] = version
    elif qualifier not in machine.aliases:
        routes = [{"stateMachineVersionArn": version.arn, "weight": 100}]
        machine.backend.create_state_machine_alias(qualifier, routes, None)


def made_for(book: Book) -> list[str]:
    """Return the state machines that a template's stubs have made."""
    return [arn for arn, owner in _made.items() if owner is book]


def remove(book: Book) -> None:
    """Remove the state machines of a template's stubs: its stack is stopping, and their executions have stopped."""
    for arn in made_for(book):
        make_room(arn)


def make_room(arn: str) -> None:
    """Remove a state machine if a stub has made it: the real one comes."""
    machine = found(arn) if _made.pop(arn, None) is not None else None
    if machine is not None:
        machine.backend.state_machines.remove(machine)
