"""Register tools: the tag on the state machine, and the parameter with the manifest. The only module here that writes.

Idempotent: what is there already is not written again. What would replace something is asked for first.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final

from stepwire.catalog.manifests import read_manifest
from stepwire.catalog.registration import CONSENT
from stepwire.errors import CatalogError
from stepwire.tasks.task import unqualified
from stepwire_cli.account.calls import Calls
from stepwire_cli.account.endpoint import Endpoint
from stepwire_cli.account.errors import AccountError
from stepwire_cli.wrap.drafts import Draft
from stepwire_cli.wrap.snippets import parameter_name

_TAGGING: Final = "resourcegroupstaggingapi"
_REGION: Final = 3  # part of an ARN


class Change(Enum):
    """What registering does to a tag or a parameter."""

    NEW = "new"
    SAME = "same"
    REPLACES = "replaces"


@dataclass(frozen=True)
class Registered:
    """A parameter that registers a tool."""

    tool: str
    source: str
    """Name of the parameter."""
    text: str
    state_machines: tuple[str, ...]
    """As the manifest names them: one, or those of the arms of a race; none: the manifest is not readable."""


@dataclass(frozen=True)
class Other:
    """The state machine of a further arm of a race."""

    arn: str
    """Without version and alias."""
    role: str = ""
    """ARN of the role that reaches it in another account or Region; empty: it is of this one."""

    @property
    def name(self) -> str:
        """Its name."""
        return self.arn.rpartition(":")[2]


@dataclass(frozen=True)
class Tagging:
    """What registering does to the tag of a state machine."""

    arn: str
    change: Change
    old_endpoint: str | None = None
    """The endpoint that the tag names now."""

    def line(self) -> str:
        """Return what is done."""
        what = {
            Change.NEW: "adds the tag",
            Change.SAME: "has the tag",
            Change.REPLACES: f"takes the tag from {self.old_endpoint}",
        }[self.change]
        return f"{self.arn.rpartition(':')[2]}: {what}"


@dataclass(frozen=True)
class Registration:
    """A tool to be registered."""

    tool: str
    text: str
    """The manifest."""
    arn: str
    """Of the state machine, without version and alias."""
    machine: str
    """Name of the state machine."""
    role: str = ""
    """ARN of the role that reaches it in another account or Region; empty: it is of this one."""
    others: tuple[Other, ...] = ()
    """Of a race: the state machines of the other arms."""


def registration_of(draft: Draft, text: str | None = None, others: tuple[Other, ...] = ()) -> Registration:
    """Return a draft as it is registered, with another manifest where its owner has changed it."""
    machine = draft.machine
    arn = unqualified(machine.arn)[0]  # versions and aliases have no tags of their own
    return Registration(
        draft.name, draft.parameter() if text is None else text, arn, machine.name, machine.role, others
    )


@dataclass(frozen=True)
class Plan:
    """What registering one tool changes."""

    wanted: Registration
    parameter: str
    taggings: tuple[Tagging, ...]
    """Of each state machine: one, or those of the arms of a race."""
    putting: Change
    by_hand: tuple[str, ...] = ()
    """What somebody must do first, one line each: then nothing is changed here."""

    def lines(self) -> list[str]:
        """Return what is done, one line each."""
        if self.by_hand:
            return [f"{self.wanted.tool}: first, by hand: {one}" for one in self.by_hand]
        put = {
            Change.NEW: "writes",
            Change.SAME: "is as it should be:",
            Change.REPLACES: "replaces",
        }[self.putting]
        return [*(one.line() for one in self.taggings), f"{self.wanted.tool}: {put} {self.parameter}"]

    @property
    def replaces(self) -> bool:
        """Whether something is lost that is there now."""
        return not self.by_hand and Change.REPLACES in self._changes

    @property
    def changes(self) -> bool:
        """Whether there is something to do."""
        return not self.by_hand and self._changes != {Change.SAME}

    @property
    def _changes(self) -> set[Change]:
        return {self.putting, *(one.change for one in self.taggings)}


@dataclass(frozen=True)
class Registry:
    """The tools that are registered with an endpoint."""

    calls: Calls
    endpoint: str
    """Name of the endpoint's stack."""

    def registered(self) -> list[Registered]:
        """Return what is registered."""
        path = parameter_name(self.endpoint, "")
        pages = self.calls.pages("ssm", "GetParametersByPath", "NextToken", Path=path)
        return [_registered(path, one) for page in pages for one in page["Parameters"]]

    def endpoints(self) -> Mapping[str, str]:
        """Return the endpoint that each tagged state machine's owner lets start it, by ARN."""
        pages = self.calls.pages(
            _TAGGING,
            "GetResources",
            "PaginationToken",
            TagFilters=[{"Key": CONSENT}],
            ResourceTypeFilters=["states:stateMachine"],
        )
        found = [one for page in pages for one in page["ResourceTagMappingList"]]
        return {one["ResourceARN"]: tag["Value"] for one in found for tag in one["Tags"] if tag["Key"] == CONSENT}

    def plans(self, wanted: Iterable[Registration]) -> list[Plan]:
        """Return what registering these tools would change."""
        there = {one.tool: one for one in self.registered()}
        endpoints = self.endpoints()
        return [
            self._plan_elsewhere(one, there.get(one.tool), endpoints)
            if any(other.role for other in _machines(one))
            else self._plan(one, there.get(one.tool), endpoints)
            for one in wanted
        ]

    def apply(self, plan: Plan) -> None:
        """Do what a plan says: first the tag, so that no manifest waits for it; nothing that must be done by hand."""
        if plan.by_hand:
            return
        for one in plan.taggings:
            if one.change is not Change.SAME:
                tags = [{"key": CONSENT, "value": self.endpoint}]
                self.calls.call("stepfunctions", "TagResource", resourceArn=one.arn, tags=tags)
        if plan.putting is not Change.SAME:
            self.calls.call(
                "ssm",
                "PutParameter",
                Name=plan.parameter,
                Value=plan.wanted.text,
                Type="String",
                Tier="Intelligent-Tiering",
                Overwrite=plan.putting is Change.REPLACES,
            )

    def _plan(self, wanted: Registration, there: Registered | None, endpoints: Mapping[str, str]) -> Plan:
        putting = Change.NEW if there is None else Change.SAME if there.text == wanted.text else Change.REPLACES
        taggings = tuple(self._tagging(one, endpoints.get(one.arn)) for one in _machines(wanted))
        return Plan(wanted, parameter_name(self.endpoint, wanted.tool), taggings, putting)

    def _tagging(self, machine: Other, endpoint: str | None) -> Tagging:
        if machine.role or endpoint == self.endpoint:
            return Tagging(machine.arn, Change.SAME, endpoint)
        return Tagging(machine.arn, Change.NEW if endpoint is None else Change.REPLACES, endpoint)

    def _plan_elsewhere(self, wanted: Registration, there: Registered | None, endpoints: Mapping[str, str]) -> Plan:
        """Plan for another account or Region: its owner consents there, and the operator allows the role here."""
        elsewhere = [one for one in _machines(wanted) if one.role]
        by_hand = [line for one in elsewhere for line in (self._consent_elsewhere(one), self._role_allowed(one.role))]
        plan = self._plan(wanted, there, endpoints)
        return replace(plan, by_hand=tuple(filter(None, by_hand)))

    def _consent_elsewhere(self, wanted: Other) -> str:
        region = wanted.arn.split(":")[_REGION]
        command = (
            f"aws stepfunctions tag-resource --resource-arn {wanted.arn} "
            f"--tags key={CONSENT},value={self.endpoint} --region {region}"
        )
        try:
            calls = self.calls.elsewhere(region, wanted.role)
            found = calls.call("stepfunctions", "ListTagsForResource", resourceArn=wanted.arn)["tags"]
        except AccountError as error:
            return f"let the role read the tags ({error})"
        if {"key": CONSENT, "value": self.endpoint} in found:
            return ""
        return f"the owner of {wanted.name} consents, with credentials of its account: {command}"

    def _role_allowed(self, role: str) -> str:
        stack = Endpoint(self.calls, self.endpoint)
        try:
            allowed = role in stack.parameter("WorkflowRoleArns").split(",")
        except AccountError as error:
            return f"make sure that WorkflowRoleArns of the stack {self.endpoint} has {role} ({error})"
        return "" if allowed else f"add {role} to WorkflowRoleArns of the stack {self.endpoint}, and deploy it"


def names_in_use(registered: Iterable[Registered]) -> dict[str, str]:
    """Return the tool that serves each state machine already, by what the manifest calls the machine."""
    return {machine: one.tool for one in registered for machine in one.state_machines}


def _machines(wanted: Registration) -> tuple[Other, ...]:
    return (Other(wanted.arn, wanted.role), *wanted.others)


def applied(plans: Iterable[Plan], registry: Registry, agree: Callable[[Plan], bool]) -> list[Plan]:
    """Do what the plans say, and return those that were done or had nothing to do.

    Args:
        plans: what to do.
        registry: where.
        agree: asks whether something may be replaced.
    """
    done: list[Plan] = []
    for plan in plans:
        if plan.replaces and not agree(plan):
            continue
        registry.apply(plan)
        done.append(plan)
    return done


def _registered(path: str, parameter: Any) -> Registered:
    text = str(parameter["Value"])
    try:
        machines = tuple(machine.name for machine in read_manifest(text).machines)
    except CatalogError:
        machines = ()
    return Registered(parameter["Name"].removeprefix(path), parameter["Name"], text, machines)
