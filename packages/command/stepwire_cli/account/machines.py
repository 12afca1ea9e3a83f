"""The state machines of an account: which ones were meant, their definitions, and how they have run."""

import difflib
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from stepwire.json_text import Json, as_object
from stepwire.tasks.task import unqualified
from stepwire_cli.account.calls import Calls
from stepwire_cli.account.errors import AccountError, NotAllowed, NothingChosen, NotThere, Unreadable
from stepwire_wrap.definitions.descriptions import Words
from stepwire_wrap.definitions.drafts import History, Machine
from stepwire_wrap.definitions.failures import Failure
from stepwire_wrap.definitions.samples import Seen

SAMPLES: Final = 20
"""Runs of which the input is read."""
_FAILURES: Final = 3
_LISTED: Final = 200  # runs whose times are read, in one call
_PAGE: Final = 1000  # state machines of one call, the most there are; by default 100
_RESOURCE: Final = "AWS::StepFunctions::StateMachine"
_STACK: Final = "AWS::CloudFormation::Stack"
_NAMES_SHOWN: Final = 3
_DEEPEST: Final = 5  # stacks inside stacks
_STACK_TAG: Final = "aws:cloudformation:stack-name"
_STATES: Final = "stepfunctions"
_REGION: Final = 3  # part of an ARN
_ACCOUNT: Final = 4
_ADD_ROLE: Final = (
    "add --role ROLE_ARN, a role there that trusts you (docs/adopting.md, Another account), or use other credentials "
    "and --region"
)


@dataclass(frozen=True)
class Chosen:
    """What was asked for."""

    names: Sequence[str] = ()
    """Names or ARNs."""
    tag: tuple[str, str] | None = None
    stack: str | None = None


@dataclass(frozen=True)
class Read:
    """A state machine with its past runs."""

    machine: Machine
    history: History
    problems: tuple[str, ...] = ()
    """What could not be read, one line each."""


@dataclass(frozen=True)
class StateMachines:
    """Reads state machines."""

    calls: Calls
    samples: int = SAMPLES
    role: str = ""
    """ARN of the role that reads state machines of another account or Region; empty: the credentials themselves."""
    watch: Callable[[str], None] = field(default=lambda _name: None)
    """Gets the name of each state machine that was read."""
    _elsewhere: dict[tuple[str, str], Calls] = field(default_factory=dict[tuple[str, str], Calls], repr=False)
    _stacks: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """The stack of each state machine that was found by a stack, or by a tag."""
    _by_name: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """All of the account and Region by name, once a name was asked for: a list of hundreds takes many calls."""
    _lock: Any = field(default_factory=threading.Lock, repr=False)

    def arns(self, chosen: Chosen) -> list[str]:
        """Return the state machines that were asked for, each once.

        Raises:
            NothingChosen: none was.
            NotThere: one of them does not exist.
        """
        if not chosen.names and chosen.tag is None and chosen.stack is None:
            raise NothingChosen(
                "name state machines, choose them by --tag KEY=VALUE or --stack NAME, or give a file or folder"
            )
        if self.role and (chosen.tag or chosen.stack or not all(name.startswith("arn:") for name in chosen.names)):
            raise NothingChosen("with --role, name state machines by their ARNs: the role lists none")
        found = list(self._named(chosen.names))
        if chosen.tag is not None:
            found += self._tagged(*chosen.tag)
        if chosen.stack is not None:
            found += self._of_stack(chosen.stack)
        return list(dict.fromkeys(found))

    def arns_of(self, names: Sequence[str]) -> list[str]:
        """Return the ARNs of these names.

        Raises:
            NotThere: there is no state machine of one of them.
        """
        return list(self._named(names))

    def read(self, arn: str) -> Read:
        """Return a state machine with its past runs; what cannot be read of these is told.

        Raises:
            AccountError: it cannot be described.
        """
        problems: list[str] = []
        machine = self.describe(arn, problems)
        history = History()
        if not machine.is_express:
            try:
                history = self.history(machine, problems)
            except AccountError as error:
                problems.append(str(error))
        self.watch(machine.name)
        return Read(machine, history, tuple(problems))

    def describe(self, arn: str, problems: list[str] | None = None) -> Machine:
        """Return a state machine, by its own ARN, a version's or an alias's.

        `problems` gets what its owner must know of an alias, one line each.

        Raises:
            NotThere: there is none.
            Unreadable: its definition is not readable.
        """
        calls = self._calls_for(arn)
        try:
            version = self._version(calls, arn, [] if problems is None else problems)
            answer = calls.call(_STATES, "DescribeStateMachine", stateMachineArn=version)
        except (NotAllowed, NotThere) as error:
            raise self._of_another_account(arn) or error from None
        definition = _json(answer.get("definition"))
        if not isinstance(definition, dict):
            raise Unreadable(f"{answer['name']}: its definition cannot be read: is it encrypted with a key of yours?")
        return Machine(
            arn,
            answer["name"],
            as_object(definition),
            answer["type"] == "EXPRESS",
            self.role,
            words=Words(str(answer.get("description") or ""), self._stacks.get(arn, "")),
        )

    def _calls_for(self, arn: str) -> Calls:
        """Return the AWS of a state machine.

        Raises:
            NotThere: it is of another Region, and no role is given.
        """
        region = f"{arn}::::".split(":")[_REGION]
        if self.role:
            with self._lock:  # each role is assumed once
                if (region, self.role) not in self._elsewhere:
                    self._elsewhere[region, self.role] = self.calls.elsewhere(region, self.role)
                return self._elsewhere[region, self.role]
        if self.calls.region and region and region != self.calls.region:
            raise NotThere(f"{arn} is in {region}, and you ask {self.calls.region}: {_ADD_ROLE}")
        return self.calls

    def _version(self, calls: Calls, arn: str, problems: list[str]) -> str:
        """Return what to describe: of an alias, which DescribeStateMachine does not know, its most used version."""
        machine, qualifier = unqualified(arn)
        if not qualifier or qualifier.isdecimal():
            return arn
        try:
            answer = calls.call(_STATES, "DescribeStateMachineAlias", stateMachineAliasArn=arn)
        except NotAllowed as error:
            problems.append(f"{error}: what the state machine is now was read, not what {qualifier} serves")
            return machine
        routes = sorted(answer["routingConfiguration"], key=lambda one: -one["weight"])
        version = routes[0]["stateMachineVersionArn"]
        if len(routes) > 1:
            shares = [f"{_number_of(one['stateMachineVersionArn'])} ({one['weight']} %)" for one in routes]
            problems.append(f"{qualifier} serves versions {' and '.join(shares)}: {_number_of(version)} was read")
        return version

    def _of_another_account(self, arn: str) -> NotThere | None:
        """Return why a state machine was not found or may not be read, if it is of another account."""
        account = f"{arn}:::::".split(":")[_ACCOUNT]
        if self.role or not account:
            return None
        try:
            own = self.calls.call("sts", "GetCallerIdentity")["Account"]
        except AccountError:
            return None
        return None if own == account else NotThere(f"{arn} is of account {account}, and you ask {own}: {_ADD_ROLE}")

    def history(self, machine: Machine, problems: list[str]) -> History:
        """Return the past runs of a state machine, newest first; what cannot be read is added to `problems`."""
        calls = self._calls_for(machine.arn)
        listed = _listed(calls, machine.arn)
        whole, qualifier = unqualified(machine.arn)
        if not listed and qualifier:
            listed = _listed(calls, whole)
            problems += [f"{qualifier} has no run yet: those of all versions were read"] if listed else []
        inputs, outputs = Seen(), Seen()
        succeeded = [one for one in listed if one["status"] == "SUCCEEDED"]
        for run in self._described(calls, spread(succeeded, self.samples), problems):
            for name, seen in (("input", inputs), ("output", outputs)):
                if (value := _json(run.get(name))) is not _NOT_JSON:
                    seen.add(value)
        failed = [one for one in listed if one["status"] in ("FAILED", "TIMED_OUT")][:_FAILURES]
        failures = [
            Failure(str(run.get("error", "")), str(run.get("cause", "")))
            for run in self._described(calls, failed, problems)
        ]
        return History(inputs, outputs, [_seconds(one) for one in listed if one.get("stopDate")], failures)

    def _described(self, calls: Calls, runs: Sequence[Any], problems: list[str]) -> Iterator[Any]:
        for one in runs:
            try:
                yield calls.call(_STATES, "DescribeExecution", executionArn=one["executionArn"])
            except AccountError as error:
                problems.append(str(error))
                return  # the next one would be refused too

    def _named(self, names: Sequence[str]) -> Iterator[str]:
        by_name = self._by_name
        if not by_name and any(not name.startswith("arn:") for name in names):
            pages = self.calls.pages(_STATES, "ListStateMachines", "nextToken", maxResults=_PAGE)
            by_name |= {one["name"]: one["stateMachineArn"] for page in pages for one in page["stateMachines"]}
        for name in names:
            own, colon, qualifier = name.partition(":")
            if name.startswith("arn:"):
                yield name
            elif own in by_name:
                yield f"{by_name[own]}{colon}{qualifier}"
            else:
                raise NotThere(_no_such(name, list(by_name)))

    def _tagged(self, key: str, value: str) -> list[str]:
        pages = self.calls.pages(
            "resourcegroupstaggingapi",
            "GetResources",
            "PaginationToken",
            TagFilters=[{"Key": key, "Values": [value]}],
            ResourceTypeFilters=["states:stateMachine"],
        )
        mappings = [one for page in pages for one in page["ResourceTagMappingList"]]
        found = [one["ResourceARN"] for one in mappings]
        tags = {one["ResourceARN"]: {tag["Key"]: tag["Value"] for tag in one.get("Tags", ())} for one in mappings}
        self._stacks.update({arn: own[_STACK_TAG] for arn, own in tags.items() if _STACK_TAG in own})
        if not found:
            raise NotThere(f"no state machine of this account and Region has the tag {key}={value}")
        return found

    def _of_stack(self, stack: str, depth: int = 0) -> list[str]:
        pages = self.calls.pages("cloudformation", "ListStackResources", "NextToken", StackName=stack)
        found: list[str] = []
        for one in (one for page in pages for one in page["StackResourceSummaries"]):
            if one["ResourceType"] == _RESOURCE:
                found.append(one["PhysicalResourceId"])
                self._stacks[one["PhysicalResourceId"]] = f"/{stack}".split("/")[2 if stack.startswith("arn:") else 1]
            elif one["ResourceType"] == _STACK and depth < _DEEPEST:
                found += self._of_stack(one["PhysicalResourceId"], depth + 1)
        if not found and not depth:
            raise NotThere(f"the stack {stack} has no state machine")
        return found


def _number_of(version_arn: str) -> str:
    return version_arn.rpartition(":")[2]


def _listed(calls: Calls, arn: str) -> Any:
    return calls.call(_STATES, "ListExecutions", stateMachineArn=arn, maxResults=_LISTED)["executions"]


def spread(runs: Sequence[Any], number: int) -> list[Any]:
    """Return so many of the runs, at equal distances, the newest among them."""
    if len(runs) <= number:
        return list(runs)
    return [runs[place * len(runs) // number] for place in range(number)]


_NOT_JSON: Final = object()


def _json(text: object) -> Json:
    try:
        return json.loads(text) if isinstance(text, str) else _NOT_JSON
    except (ValueError, RecursionError):
        return _NOT_JSON


def _seconds(run: Any) -> float:
    start: datetime = run["startDate"]
    stop: datetime = run["stopDate"]
    return max(0.0, (stop - start).total_seconds())


def _no_such(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=_NAMES_SHOWN)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {len(known)}; check --region and --profile"
    return f"{name}: no state machine of this account and Region has that name; {hint}"
