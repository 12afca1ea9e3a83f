"""Register tools: the tags on the state machine, and the parameter with the manifest. The only module here that writes.

Idempotent: what is there already is not written again. What would replace something, or let one more tool start a state
machine whose owner has named those that may, is asked for first. A state machine that gets the endpoint's tag here lets
only this tool start it; one that had it is left as its owner wanted it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final

from stepwire.errors import CatalogError
from stepwire.manifests.reading import read_manifest
from stepwire.manifests.registration import CONSENT, CONSENT_TOOLS, is_listed
from stepwire.tasks.task import unqualified
from stepwire_cli.account.calls import Calls
from stepwire_cli.account.endpoint import Endpoint
from stepwire_cli.account.errors import AccountError
from stepwire_wrap.definitions.drafts import Draft
from stepwire_wrap.definitions.snippets import parameter_name

Tags = Mapping[str, str]
_TAGGING: Final = "resourcegroupstaggingapi"
_REGION: Final = 3  # part of an ARN


class Change(Enum):
    """What registering does to the tags of a state machine or to a parameter."""

    NEW = "new"
    SAME = "same"
    EXTENDS = "extends"
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
    """What registering does to the tags of a state machine."""

    arn: str
    change: Change
    old_endpoint: str | None = None
    """The endpoint that the tag names now."""
    tools: str = ""
    """The tools that may start it now, if its tag names some and not this one."""

    def line(self) -> str:
        """Return what is done."""
        what = {
            Change.NEW: "adds the tag",
            Change.SAME: "has the tag",
            Change.EXTENDS: "has the tag",
            Change.REPLACES: f"takes the tag from {self.old_endpoint}",
        }[self.change]
        also = f", and lets this tool start it beside {self.tools}" if self.tools else ""
        return f"{self.arn.rpartition(':')[2]}: {what}{also}"


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

    def dry_lines(self) -> list[str]:
        """Return what would be done, one line each, and what is there already."""
        changes = [*(one.change for one in self.taggings), self.putting]
        marks = ["" if one is Change.SAME else "would do: " for one in changes]
        return [f"{mark}{line}" for mark, line in zip(marks, self.lines(), strict=True)]

    @property
    def replaces(self) -> bool:
        """Whether something is lost that is there now, if only that no other tool may start a state machine."""
        return not self.by_hand and not self._changes.isdisjoint({Change.REPLACES, Change.EXTENDS})

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
        return {arn: tags[CONSENT] for arn, tags in self._tagged().items()}

    def _tagged(self) -> Mapping[str, Tags]:
        pages = self.calls.pages(
            _TAGGING,
            "GetResources",
            "PaginationToken",
            TagFilters=[{"Key": CONSENT}],
            ResourceTypeFilters=["states:stateMachine"],
        )
        found = [one for page in pages for one in page["ResourceTagMappingList"]]
        return {one["ResourceARN"]: {tag["Key"]: tag["Value"] for tag in one["Tags"]} for one in found}

    def plans(self, wanted: Iterable[Registration]) -> list[Plan]:
        """Return what registering these tools would change."""
        there = {one.tool: one for one in self.registered()}
        tagged = self._tagged()
        return [
            self._plan_elsewhere(one, there.get(one.tool), tagged)
            if any(other.role for other in _machines(one))
            else self._plan(one, there.get(one.tool), tagged)
            for one in wanted
        ]

    def apply(self, plan: Plan) -> None:
        """Do what a plan says: first the tags, so that no manifest waits for it; nothing that must be done by hand."""
        if plan.by_hand:
            return
        for one in plan.taggings:
            if one.change is not Change.SAME:
                self._tag(one, plan.wanted.tool)
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

    def _tag(self, planned: Tagging, tool: str) -> None:
        """Write the tags of a state machine, from what they are now: a plan before this one may have written them.

        Raises:
            AccountError: somebody has let another endpoint start it, which the plan, made of a list that lags, lacks.
        """
        arn = planned.arn
        found = self.calls.call("stepfunctions", "ListTagsForResource", resourceArn=arn)["tags"]
        there = {one["key"]: one["value"] for one in found}
        if (now := there.get(CONSENT)) not in (None, self.endpoint, planned.old_endpoint):
            raise AccountError(
                f"the tag of {arn} names the endpoint {now} by now: repeat the command, which asks first"
            )
        tags = [{"key": CONSENT, "value": self.endpoint}]
        if others := _other_tools(there, tool):
            tags.append({"key": CONSENT_TOOLS, "value": f"{others} {tool}"})
        elif CONSENT_TOOLS not in there and there.get(CONSENT) != self.endpoint:
            tags.append({"key": CONSENT_TOOLS, "value": tool})
        self.calls.call("stepfunctions", "TagResource", resourceArn=arn, tags=tags)

    def _plan(self, wanted: Registration, there: Registered | None, tagged: Mapping[str, Tags]) -> Plan:
        putting = Change.NEW if there is None else Change.SAME if there.text == wanted.text else Change.REPLACES
        taggings = tuple(self._tagging(one, tagged.get(one.arn, {}), wanted.tool) for one in _machines(wanted))
        return Plan(wanted, parameter_name(self.endpoint, wanted.tool), taggings, putting)

    def _tagging(self, machine: Other, tags: Tags, tool: str) -> Tagging:
        endpoint, others = tags.get(CONSENT), _other_tools(tags, tool)
        if machine.role:
            return Tagging(machine.arn, Change.SAME, endpoint)
        if endpoint == self.endpoint:
            return Tagging(machine.arn, Change.EXTENDS if others else Change.SAME, endpoint, others)
        return Tagging(machine.arn, Change.NEW if endpoint is None else Change.REPLACES, endpoint, others)

    def _plan_elsewhere(self, wanted: Registration, there: Registered | None, tagged: Mapping[str, Tags]) -> Plan:
        """Plan for another account or Region: its owner consents there, and the operator allows the role here."""
        elsewhere = [one for one in _machines(wanted) if one.role]
        by_hand = [line for one in elsewhere for line in (self._consent_elsewhere(one), self._role_allowed(one.role))]
        plan = self._plan(wanted, there, tagged)
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
            allowed = is_listed(role, stack.listed("WorkflowRoleArns"))
        except AccountError as error:
            return f"make sure that WorkflowRoleArns of the stack {self.endpoint} has {role} ({error})"
        return "" if allowed else f"add {role} to WorkflowRoleArns of the stack {self.endpoint}, and deploy it"


def names_in_use(registered: Iterable[Registered]) -> dict[str, str]:
    """Return the tool that serves each state machine already, by what the manifest calls the machine."""
    return {machine: one.tool for one in registered for machine in one.state_machines}


def _other_tools(tags: Tags, tool: str) -> str:
    """Return the tools that may start a state machine; empty if the tool is among them, or any may."""
    names = tags.get(CONSENT_TOOLS, tool)
    return "" if tool in names.split() else names.strip()


def _machines(wanted: Registration) -> tuple[Other, ...]:
    return (Other(wanted.arn, wanted.role), *wanted.others)


def _registered(path: str, parameter: Any) -> Registered:
    text = str(parameter["Value"])
    try:
        machines = tuple(machine.name for machine in read_manifest(text).machines)
    except CatalogError:
        machines = ()
    return Registered(parameter["Name"].removeprefix(path), parameter["Name"], text, machines)
