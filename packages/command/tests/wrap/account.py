"""An account in memory: as much of AWS's answers as the command reads, with a count of the calls."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from botocore.exceptions import ClientError

from stepwire.json_text import Json, JsonObject
from stepwire_cli.account.calls import Calls
from stepwire_cli.account.errors import NotAllowed
from stepwire_cli.account.machines import StateMachines
from stepwire_cli.account.pacing import Pacer
from stepwire_cli.account.registering import Plan, Registry

PREFIX: Final = "arn:aws:states:eu-central-1:123456789012:stateMachine:"
START: Final = datetime(2026, 11, 1, tzinfo=UTC)
PASS: Final[JsonObject] = {"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}}


@dataclass
class Time:
    """A clock that only sleeping moves."""

    now: float = 0.0
    slept: list[float] = field(default_factory=list[float])

    def sleep(self, seconds: float) -> None:
        """Move the clock."""
        self.slept.append(seconds)
        self.now += seconds


@dataclass
class Account:
    """State machines, runs, tags and parameters."""

    machines: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    """The answer of DescribeStateMachine, by name."""
    versions: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    """The same of versions, as `Name:1`."""
    runs: dict[str, list[JsonObject]] = field(default_factory=dict[str, list[JsonObject]])
    tags: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    parameters: dict[str, str] = field(default_factory=dict[str, str])
    stacks: dict[str, list[tuple[str, str]]] = field(default_factory=dict[str, list[tuple[str, str]]])
    refused: list[JsonObject] = field(default_factory=list[JsonObject])
    faults: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Codes of the errors with which the next calls of an operation fail; the last one stays."""
    count: Counter[str] = field(default_factory=Counter[str])
    time: Time = field(default_factory=Time)
    aliases: dict[str, list[tuple[str, int]]] = field(default_factory=dict[str, list[tuple[str, int]]])
    """The versions and weights of each alias, as `Name:alias`."""
    settings: dict[str, str] = field(default_factory=dict[str, str])
    """The parameters of the endpoint's stack."""
    others: "dict[tuple[str, str | None], Account]" = field(default_factory=dict[tuple[str, str | None], Any])
    """Other accounts and Regions, by Region and role."""
    at_each_call: Callable[[str], None] = lambda _operation: None

    def add(self, name: str, definition: Json = PASS, *, kind: str = "STANDARD", **tags: str) -> str:
        """Add a state machine, and return its ARN."""
        arn = PREFIX + name
        text = definition if isinstance(definition, str) else json.dumps(definition)
        self.machines[name] = {"stateMachineArn": arn, "name": name, "definition": text, "type": kind}
        self.tags[arn] = dict(tags)
        return arn

    def publish(self, name: str, version: str, definition: JsonObject = PASS) -> None:
        """Add a version of a state machine."""
        made = {"stateMachineArn": f"{PREFIX}{name}:{version}", "name": name, "definition": json.dumps(definition)}
        self.versions[f"{name}:{version}"] = {**made, "type": self.machines[name]["type"]}

    def run(self, name: str, given: Json, output: Json = None, **more: Any) -> None:
        """Add a run to a state machine; it took a second, and succeeded."""
        runs = self.runs.setdefault(name, [])
        arn = f"{PREFIX.replace('stateMachine', 'execution')}{name}:{len(runs)}"
        run = {
            "executionArn": arn,
            "status": "SUCCEEDED",
            "startDate": START,
            "stopDate": START + timedelta(seconds=more.pop("seconds", 1)),
            "input": json.dumps(given),
            "output": json.dumps(output),
            **more,
        }
        runs.insert(0, run)

    @property
    def calls(self) -> Calls:
        """Return the account as the command calls it."""
        pacer = Pacer(lambda: self.time.now, self.time.sleep)
        return Calls(self.client, pacer, PREFIX.split(":")[3], elsewhere=self._elsewhere)

    def _elsewhere(self, region: str, role: str | None) -> Calls:
        if (region, role) not in self.others:
            raise NotAllowed(f"{role} may not be assumed")
        return replace(self.others[region, role].calls, region=region)

    def reader(self, **more: Any) -> StateMachines:
        """Return what reads its state machines."""
        return StateMachines(self.calls, **more)

    def client(self, service: str) -> Any:
        """Return a client of a service."""
        return _Client(self, service)

    def answer(self, operation: str, parameters: Mapping[str, Any]) -> Any:
        """Answer one call."""
        self.count[operation] += 1
        self.at_each_call(operation)
        if faults := self.faults.get(operation):
            code = faults.pop(0) if len(faults) > 1 else faults[0]
            if code != "none":
                raise ClientError({"Error": {"Code": code, "Message": f"{code} for you"}}, operation)
        return _ANSWERS[operation](self, parameters)


@dataclass(frozen=True)
class _Client:
    account: Account
    service: str

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        def call(**parameters: Any) -> Any:
            return self.account.answer(operation, parameters)

        return call


def _missing(code: str, text: str = "is not there") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": text}}, "any")


def _describe(account: Account, given: Mapping[str, Any]) -> Any:
    name = _name_in(given["stateMachineArn"])
    if account.others and not given["stateMachineArn"].startswith(PREFIX):
        raise _missing("AccessDeniedException")
    found = {**account.machines, **account.versions}
    if name not in found:
        raise _missing("StateMachineDoesNotExist")
    return found[name]


def _name_in(arn: str) -> str:
    """Return the name, with the version or the alias."""
    return arn.partition(":stateMachine:")[2]


def _alias(account: Account, given: Mapping[str, Any]) -> Any:
    name = _name_in(given["stateMachineAliasArn"])
    if name not in account.aliases:
        raise _missing("ResourceNotFound")
    own = given["stateMachineAliasArn"].rpartition(":")[0]
    routes = [
        {"stateMachineVersionArn": f"{own}:{number}", "weight": weight} for number, weight in account.aliases[name]
    ]
    return {"routingConfiguration": routes}


def _executions(account: Account, given: Mapping[str, Any]) -> Any:
    return {"executions": account.runs.get(_name_in(given["stateMachineArn"]), [])[: given["maxResults"]]}


def _tags(account: Account, given: Mapping[str, Any]) -> Any:
    tags = account.tags.get(given["resourceArn"], {})
    return {"tags": [{"key": key, "value": value} for key, value in tags.items()]}


def _stacks(account: Account, _given: Mapping[str, Any]) -> Any:
    parameters = [{"ParameterKey": name, "ParameterValue": value} for name, value in account.settings.items()]
    return {"Stacks": [{"Parameters": parameters}]}


def _identity(_account: Account, _given: Mapping[str, Any]) -> Any:
    return {"Account": PREFIX.split(":")[4]}


def _execution(account: Account, given: Mapping[str, Any]) -> Any:
    return next(one for runs in account.runs.values() for one in runs if one["executionArn"] == given["executionArn"])


def _list(account: Account, given: Mapping[str, Any]) -> Any:
    first = int(given.get("nextToken", "0"))
    page = list(account.machines.values())[first : first + 2]
    more = {"nextToken": str(first + 2)} if first + 2 < len(account.machines) else {}
    return {"stateMachines": page, **more}


def _resources(account: Account, given: Mapping[str, Any]) -> Any:
    (wanted,) = given["TagFilters"]
    found = [
        {"ResourceARN": arn, "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}
        for arn, tags in account.tags.items()
        if wanted["Key"] in tags and tags[wanted["Key"]] in wanted.get("Values", [tags[wanted["Key"]]])
    ]
    return {"ResourceTagMappingList": found, "PaginationToken": ""}


def _of_stack(account: Account, given: Mapping[str, Any]) -> Any:
    if given["StackName"] not in account.stacks:
        raise _missing("ValidationError", f"Stack with id {given['StackName']} does not exist")
    kinds = account.stacks[given["StackName"]]
    return {"StackResourceSummaries": [{"ResourceType": kind, "PhysicalResourceId": one} for kind, one in kinds]}


def _parameters(account: Account, given: Mapping[str, Any]) -> Any:
    found = [
        {"Name": name, "Value": text} for name, text in account.parameters.items() if name.startswith(given["Path"])
    ]
    return {"Parameters": found}


def _put(account: Account, given: Mapping[str, Any]) -> Any:
    assert given["Name"] not in account.parameters or given["Overwrite"], "AWS refuses it"
    account.parameters[given["Name"]] = given["Value"]
    return {}


def _tag(account: Account, given: Mapping[str, Any]) -> Any:
    account.tags[given["resourceArn"]] |= {one["key"]: one["value"] for one in given["tags"]}
    return {}


def _item(account: Account, _given: Mapping[str, Any]) -> Any:
    return {"Item": {"refused": {"S": json.dumps({"refused": account.refused})}}} if account.refused else {}


def _resource(_account: Account, given: Mapping[str, Any]) -> Any:
    return {"StackResourceDetail": {"PhysicalResourceId": f"{given['StackName']}-table"}}


def applied(plans: Iterable[Plan], registry: Registry, agree: Callable[[Plan], bool]) -> list[Plan]:
    """Do what the plans say, and return those that were agreed to or replace nothing."""
    done = [plan for plan in plans if not plan.replaces or agree(plan)]
    for plan in done:
        registry.apply(plan)
    return done


_ANSWERS: Final[Mapping[str, Callable[[Account, Mapping[str, Any]], Any]]] = {
    "describe_state_machine": _describe,
    "list_executions": _executions,
    "describe_execution": _execution,
    "list_state_machines": _list,
    "get_resources": _resources,
    "list_stack_resources": _of_stack,
    "get_parameters_by_path": _parameters,
    "put_parameter": _put,
    "tag_resource": _tag,
    "get_item": _item,
    "describe_stack_resource": _resource,
    "describe_state_machine_alias": _alias,
    "list_tags_for_resource": _tags,
    "describe_stacks": _stacks,
    "get_caller_identity": _identity,
}
