"""Patches of versions and aliases of state machines."""

from collections.abc import Callable
from typing import Any

from moto.core.exceptions import AWSError
from moto.stepfunctions.parser import models as running

from stepwire_local.account.moto_patches.executions import lock
from stepwire_local.account.status_events import StartedBy

_Replace = Callable[[object, str, object], None]

_PARTS = 7  # of a state machine's ARN; then comes a version or an alias


class _NotThere(AWSError):
    """No such version or alias."""


def versions_and_aliases_are_started(replace: _Replace) -> None:
    """Patch: Start the version that an ARN names, or that its alias routes most starts to.

    Defect: An alias does not exist for a start, and the execution of a version cannot be found afterwards.
    """
    original: Any = running.StepFunctionsParserBackend.start_execution

    def start_execution(self: Any, state_machine_arn: str, *arguments: Any, **named: Any) -> Any:
        parts = state_machine_arn.split(":")
        if len(parts) <= _PARTS:
            return original(self, state_machine_arn, *arguments, **named)
        machine = self.describe_state_machine(":".join(parts[:_PARTS]))
        version, alias = _version(machine, parts[_PARTS])
        with lock:
            # As in AWS, the execution is the state machine's, and runs the definition of the version.
            kept = machine.definition, machine.roleArn
            machine.definition, machine.roleArn = version.definition, version.roleArn
            machine.started_by = StartedBy(version.arn, alias)
            try:
                return original(self, machine.arn, *arguments, **named)
            finally:
                machine.definition, machine.roleArn = kept
                del machine.started_by

    replace(running.StepFunctionsParserBackend, "start_execution", start_execution)


def _version(machine: Any, qualifier: str) -> tuple[Any, str | None]:
    """Return the version that a qualifier names, and the ARN of its alias; of several, the one with most weight."""
    alias = machine.aliases.get(qualifier)
    if alias is not None:
        routes = sorted(alias.routing_configuration, key=lambda route: int(route["weight"]))
        return machine.versions[int(routes[-1]["stateMachineVersionArn"].rpartition(":")[2])], alias.arn
    version = machine.versions.get(int(qualifier)) if qualifier.isdecimal() else None
    if version is None:
        name = f"{machine.arn}:{qualifier}"
        raise _NotThere(f"State Machine Does Not Exist: '{name}'", "StateMachineDoesNotExist", 400)
    return version, None


PATCHES = (versions_and_aliases_are_started,)
