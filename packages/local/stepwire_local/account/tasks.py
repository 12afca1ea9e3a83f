"""What a Task state asks for: the names that a stub of it may have, and why it cannot run here.

The rule: what runs here is what `iam/actions.py` lists, and the functions and state machines that are here. Everything
else needs a stub. Values that only an execution knows count as served until then.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from moto.stepfunctions.parser.models import stepfunctions_parser_backends

from stepwire.json_text import objects_in
from stepwire.manifests.definitions import states_in
from stepwire_local.iam import permissions
from stepwire_local.iam.actions import SERVED
from stepwire_local.lambdas import functions
from stepwire_local.stubs.owners import owned

_INTEGRATION: Final = re.compile(r"arn:aws[\w-]*:states:[\w-]*:\d*:(?!activity:)")
"""The beginning of an integration's ARN: Step Functions ignores its Region and account."""
_SDK: Final = "aws-sdk:"
_NAMED: Final = 7  # parts of the ARN of a function, a state machine or an activity
_SERVICES: Final = {"sfn": "stepfunctions", "states": "stepfunctions"}  # botocore's names for Step Functions' own
_SERVED: Final = frozenset(one.casefold() for one in SERVED)
_STARTS: Final = frozenset(f"stepfunctions.{name}" for name in ("startexecution", "startsyncexecution"))


@dataclass(frozen=True)
class Task:
    """A Task state, as its definition writes it or as an execution evaluated it."""

    machine: str
    """ARN of its state machine."""
    state: str
    resource: str
    parameters: Mapping[str, Any]
    is_item_reader: bool = False
    """Whether it reads the items of a Distributed Map."""

    @property
    def action(self) -> str:
        """Return what it calls, as a stub names it: `sns:publish`, `lambda:invoke`, `activity`."""
        if self.is_integration:
            return self.whole.partition(".")[0]
        return "activity" if ":activity:" in self.resource else "lambda:invoke"

    @property
    def is_integration(self) -> bool:
        """Return whether it calls a service, and neither a function nor an activity by its ARN."""
        return _INTEGRATION.match(self.resource) is not None

    @property
    def whole(self) -> str:
        """Return what it calls in its form: `glue:startJobRun.sync`."""
        return _INTEGRATION.sub("", self.resource, count=1) if self.is_integration else self.action

    @property
    def awaits_token(self) -> bool:
        """Return whether it ends with its task token."""
        return self.resource.endswith(".waitForTaskToken")

    @property
    def operation(self) -> str:
        """Return botocore's name for what it calls, in lower case: `sns.publish`."""
        service, _, name = self.action.removeprefix(_SDK).partition(":")
        return f"{_SERVICES.get(service, service)}.{name}".casefold()

    @property
    def function(self) -> str | None:
        """Return the ARN of the function that it invokes; None if none, or only an execution knows."""
        if self.operation != "lambda.invoke":
            return None
        if not self.is_integration:
            return ":".join(self.resource.split(":")[:_NAMED])
        return _arn(self.parameters.get("FunctionName"), self.machine, "lambda", "function")

    @property
    def nested(self) -> str | None:
        """Return the ARN of the state machine that it starts; None if none, or only an execution knows."""
        if self.operation not in _STARTS:
            return None
        named = self.parameters.get("StateMachineArn", self.parameters.get("stateMachineArn"))
        return _arn(named, self.machine, "states", "stateMachine")


def _arn(named: object, machine: str, service: str, kind: str) -> str | None:
    """Return an ARN without version and alias; a name is of the state machine's account and Region."""
    if not isinstance(named, str) or not named or named.startswith(("{%", "$")):
        return None
    if named.startswith("arn:"):
        parts = named.split(":")[:_NAMED]
        return ":".join(parts) if len(parts) == _NAMED else None
    region, account = machine.split(":")[3:5]
    return f"arn:aws:{service}:{region}:{account}:{kind}:{named.partition(':')[0]}"


def names_of(task: Task) -> Sequence[str]:
    """Return the names that a stub of a task may have: the most precise first."""
    whose = owned(task.machine)
    machines = whose.names if whose else ()
    target = task.function or (task.resource if task.action == "activity" else None)
    return (
        *(f"{name}/{task.state}" for name in machines),
        task.state,
        *names_of_target(target),
        task.whole,
        task.action,
    )


def names_of_target(arn: str | None) -> Sequence[str]:
    """Return the names of a function, a state machine or an activity."""
    if arn is None:
        return ()
    known = owned(arn)
    return (*(known.names if known else ()), arn, arn.rpartition(":")[2])


def best_name(task: Task) -> str:
    """Return the name under which a stub of a task is found most easily: its target's, else the action's."""
    if task.action == "activity":
        return names_of_target(task.resource)[0]
    target = task.function or task.nested
    return names_of_target(target)[0] if target else task.action


def problem(task: Task, role: str) -> str | None:
    """Return why a task of a state machine with this role cannot run here; None if it can."""
    if "${" in task.resource:
        return f"{task.resource} has a name that DefinitionSubstitutions lacks"
    if task.action == "activity":
        return f"the activity {task.resource.rpartition(':')[2]} has no worker here"
    if task.function is not None:
        return _problem_of_function(task.function)
    if task.nested is not None and not is_here(task.nested):
        return f"the state machine {task.nested} is in no template here"
    return None if _is_served(task, role) else f"{task.action} is not served here"


def _problem_of_function(arn: str) -> str | None:
    try:
        settings = functions.registered(arn).settings
    except KeyError:
        return f"the function {arn.rpartition(':')[2]} is in no template here"
    return f"the function {names_of_target(arn)[0]} cannot run here: {settings.not_run}" if settings.not_run else None


def _is_served(task: Task, role: str) -> bool:
    """Return whether an action is simulated; where no role is enforced, any action of a simulated service."""
    service = task.operation.partition(".")[0]
    is_free = permissions.registered(role) is None
    return task.operation in _SERVED or (is_free and service in {one.partition(".")[0] for one in _SERVED})


def machine_of(arn: str) -> str:
    """Return the ARN of a state machine without its version or alias."""
    return ":".join(arn.split(":")[:_NAMED])


def is_here(machine: str) -> bool:
    """Return whether a state machine is in the simulated account, or in another that it knows."""
    return found(machine) is not None


def found(machine: str) -> Any:
    """Return moto's state machine with this ARN, in whichever account and Region; None if there is none."""
    region, account = machine.split(":")[3:5]
    try:
        machines = stepfunctions_parser_backends[account][region].state_machines
    except KeyError:  # no such Region
        return None
    return next((one for one in machines if one.arn == machine), None)


def tasks_in(machine: str, definition: Mapping[str, Any]) -> list[Task]:
    """Return the Task states of a definition, those in Parallel and Map too, and what Distributed Maps read."""
    listed: list[Task] = []
    for name, state in ((one.name, one.state) for one in states_in(definition)):
        for asking in [state] if state.get("Type") == "Task" else objects_in(state.get("ItemReader")):
            given: Any = asking.get("Parameters", asking.get("Arguments"))
            parameters = cast("Mapping[str, Any]", given if isinstance(given, Mapping) else {})
            is_reader = asking is not state
            listed.append(Task(machine, name, str(asking.get("Resource", "")), parameters, is_reader))
    return listed
