"""The state machine that issued a task token, on which an answer to the token must be allowed.

AWS's service authorization reference says that these actions have no resource; its refusals name the state machine, and
the CDK's `grantTaskResponse` grants them on it.
"""

from typing import Any, Final

from moto.stepfunctions.parser.models import stepfunctions_parser_backends

_STATE_MACHINE_PARTS: Final = 7  # of an ARN; then comes a version


def machine_of(token: str, region: str, account: str) -> str | None:
    """Return the ARN of the state machine that issued a token; None if none did."""
    backend: Any = stepfunctions_parser_backends[account][region]
    for execution in (execution for machine in list(backend.state_machines) for execution in list(machine.executions)):
        program = execution.exec_worker.env if execution.exec_worker else None
        if program is not None and program.callback_pool_manager.get(token) is not None:
            return ":".join(execution.state_machine_arn.split(":")[:_STATE_MACHINE_PARTS])
    return None
