"""The composition root of function operator: the one door for operators (`stepwire.background.commands`)."""

import os
from functools import cached_property
from typing import Any, Final

from stepwire.aws.bootstrap import ports_of
from stepwire.aws.clients import patient_dynamodb_client, patient_step_functions_client
from stepwire.aws.invocations import builds_once, log_fault, new_logger
from stepwire.aws.settings import read_extras, read_usage_limits, required
from stepwire.aws.storage.table import Table
from stepwire.background.commands import COMMANDS, Commands, obeyed
from stepwire.composition import switched_on
from stepwire.engine.assembly import Engine, Settings, assemble
from stepwire.hooks import Ground
from stepwire.json_text import JsonObject

_ALIAS: Final = 7  # where it is in an ARN: arn:aws:lambda:region:account:function:name:alias


class OperatorHandler:
    """Handles function operator."""

    @builds_once
    def __call__(self, event: JsonObject, context: Any) -> JsonObject:
        """Do what an operator commands, by the alias that has the right, and log what was done."""
        right = "".join(context.invoked_function_arn.split(":")[_ALIAS:])
        answer = obeyed(event, right, self._commands, self._engine)
        if "done" in answer:
            new_logger().info("an operator gave a command", given=event)
        return answer

    @cached_property
    def _commands(self) -> Commands:
        extras, ground = switched_on(read_extras(os.environ)), Ground(self._table, os.environ, self._engine)
        commands = dict(COMMANDS)
        for extra in extras:
            commands |= {} if extra.commands is None else extra.commands(ground)
        return commands

    @cached_property
    def _engine(self) -> Engine:
        ports = ports_of(self._table, patient_step_functions_client, self._report)
        return assemble(ports, Settings(limits=read_usage_limits(os.environ)))

    @cached_property
    def _table(self) -> Table:
        return Table(required(os.environ, "TABLE_NAME"), patient_dynamodb_client)

    def _report(self, fault: Exception) -> None:
        log_fault(fault, "a command could not be carried out", "check postponed", new_logger())
