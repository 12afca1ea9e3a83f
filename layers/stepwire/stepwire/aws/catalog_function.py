"""Function catalog: its settings, the parameters of owners, what is known of their state machines, and the handler.

Apart from `bootstrap`: it needs YAML and pydantic, which no other function loads.

Its events: "Parameter Store Change", "Tag Change on Resource", and the schedule of the sweep, with which it looks at
every state machine anew.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aws_lambda_powertools import Logger
from botocore.exceptions import BotoCoreError, ClientError
from msgspec import Struct, field
from msgspec.structs import replace

from stepwire.aws.clients import (
    THROTTLED,
    code_of,
    patient_dynamodb_client,
    patient_step_functions_client,
    ssm_client,
    tagging_client,
)
from stepwire.aws.elsewhere import client_elsewhere
from stepwire.aws.invocations import builds_once
from stepwire.aws.settings import TASK_ROOT, WITH_SCOPES, read_extras, read_list, required
from stepwire.aws.step_functions import nowhere, region_of
from stepwire.aws.storage.compiled_catalog import DynamoDbPublisher
from stepwire.aws.storage.table import Table
from stepwire.catalog.tools import CompiledTool
from stepwire.errors import CatalogError, SaveConflict, StoreBusy, WorkflowsThrottled, WorkflowsUnavailable
from stepwire.json_text import load_json
from stepwire.manifests.published import Compiled, Endpoint, Registered, ToolFile
from stepwire.manifests.registration import CONSENT, Compiler, Examined, Kind, OutOfBudget, is_listed
from stepwire.tasks.task import unqualified

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

_SCHEDULED: Final = "Scheduled Event"
_TAGS_CHANGED: Final = "Tag Change on Resource"
_PARAMETER_CHANGED: Final = "Parameter Store Change"
_MOST_TRIES: Final = 5
_TO_PUBLISH: Final = 30_000  # milliseconds at the end of a run: one manifest, and the writes of all parts
_NOT_THERE: Final = frozenset({"StateMachineDoesNotExist", "ResourceNotFound", "InvalidArn", "ValidationException"})
_DENIED: Final = "AccessDeniedException"
_ROLE_DENIAL: Final = "AccessDenied"  # STS's
_ROLE_DENIED: Final = frozenset({_DENIED, _ROLE_DENIAL})
_FAULTS: Final = {
    _DENIED: (
        "may not be described by the endpoint: check the policies (of the organization too) that deny it "
        "states:DescribeStateMachine and states:DescribeStateMachineAlias"
    ),
    _ROLE_DENIAL: (
        "must allow the endpoint to assume it: its trust policy names the endpoint's account and its external id (the "
        "stack's output ExternalId)"
    ),
    "KmsAccessDeniedException": (
        "is encrypted with a key that the endpoint may not use: its operator adds the key to StateMachineKeyArns, "
        "and the key's policy must allow it"
    ),
    "KmsInvalidStateException": "is encrypted with a key that is disabled, or waits for its deletion",
}
MOST_READS: Final = 50
"""State machines whose tags one run reads one by one: Step Functions answers some at once, then one a second."""
READ_AGAIN_AFTER: Final = timedelta(hours=1)
READ_AGAIN_ELSEWHERE_AFTER: Final = timedelta(minutes=10)
"""Shorter, because neither a list nor an event tells of tags there."""
_ENCRYPTED: Final = "# a SecureString is not read: use the type String"


class CatalogSettings(Struct, frozen=True):
    """What function catalog is told."""

    table_name: str
    endpoint: Endpoint
    path: str
    """Of the parameters that tools are registered with."""
    allowed: tuple[str, ...]
    """ARNs of state machines that need no tag; a name may end in *."""
    extras: tuple[str, ...]
    """Names of the extras that are on: their fields a manifest may have."""
    release_tools: Mapping[str, str]
    """The files of the manifests that are part of the release, by the names of their tools."""


def read_catalog_settings(environment: Mapping[str, str]) -> CatalogSettings:
    """Read the settings of function catalog.

    Raises:
        SettingsError: one is missing or wrong.
    """
    name = required(environment, "ENDPOINT_NAME")
    checks_scopes = required(environment, "AUTHORIZER") in WITH_SCOPES
    # What the build wrote beside the handler.
    release_tools = Path(environment.get(TASK_ROOT, "")) / "release_tools.json"
    return CatalogSettings(
        table_name=required(environment, "TABLE_NAME"),
        endpoint=Endpoint(
            name,
            required(environment, "STATE_MACHINE_PREFIX"),
            checks_scopes,
            read_list(environment, "WORKFLOW_ROLE_ARNS"),
        ),
        path=f"/stepwire/{name}/tools/",
        allowed=read_list(environment, "STATE_MACHINE_ARNS"),
        extras=read_extras(environment),
        release_tools=load_json(release_tools.read_text(encoding="utf-8")) if release_tools.is_file() else {},
    )


class Deletion(Struct, frozen=True):
    """An event that says that a parameter is gone. Events come late and out of order, and a list lags behind them."""

    name: str
    at: datetime

    def has_left(self, parameter: Any) -> bool:
        """Tell whether a parameter of a list is the deleted one, and not one that was written in its place since."""
        return parameter["Name"] == self.name and parameter["LastModifiedDate"] < self.at


class Parameters(Struct, frozen=True):
    """The parameters below a path: the manifest of a tool in <tool>, and the files beside it in <tool>/<folder>/...

    Below the tool's own, so that a right to write it is a right to nobody else's files.
    """

    path: str
    """With a slash at its end."""
    build_client: Callable[[], Any]

    def registered(self, gone: Deletion | None = None) -> tuple[list[Registered], list[ToolFile]]:
        """Return all that is registered, ten parameters a call; not the deleted parameter."""
        pages = self.build_client().get_paginator("get_parameters_by_path").paginate(Path=self.path, Recursive=True)
        manifests, files = list[Registered](), list[ToolFile]()
        for one in (one for page in pages for one in page["Parameters"] if gone is None or not gone.has_left(one)):
            tool, is_file, path = one["Name"].removeprefix(self.path).partition("/")
            text = _ENCRYPTED if one["Type"] == "SecureString" else one["Value"]
            if is_file:
                files.append(ToolFile(tool, path, one["Name"], text))
            else:
                manifests.append(Registered(tool, one["Name"], text))
        return manifests, files

    def owners(self) -> dict[str, str]:
        """Return who last wrote the parameters, by their names: users, or roles without the name of a session.

        Empty where that cannot be read: then all of them are one owner's.
        """
        filters = [{"Key": "Path", "Option": "OneLevel", "Values": [self.path.rstrip("/")]}]
        try:
            pages = self.build_client().get_paginator("describe_parameters").paginate(ParameterFilters=filters)
            return {one["Name"]: _identity(one) for page in pages for one in page["Parameters"]}
        except (BotoCoreError, ClientError):
            return {}


def _identity(parameter: Any) -> str:
    who: str = parameter.get("LastModifiedUser", "")
    return who.rpartition("/")[0] if ":assumed-role/" in who else who


class KnownTags(Struct):
    """The tags that an instance has read of single state machines, so that it seldom reads them again."""

    now: Callable[[], datetime]
    _read: dict[str, tuple[datetime, Mapping[str, str]]] = field(
        default_factory=dict[str, tuple[datetime, Mapping[str, str]]]
    )

    def of(self, arn: str, keep_for: timedelta) -> Mapping[str, str] | None:
        """Return the tags of a state machine; None if they were not read in that time."""
        known = self._read.get(arn)
        return known[1] if known is not None and self.now() - known[0] < keep_for else None

    def keep(self, arn: str, tags: Mapping[str, str]) -> None:
        """Remember the tags of a state machine."""
        self._read[arn] = (self.now(), tags)


class TaggedStateMachines(Struct, dict=True):
    """State machines, and the tags with which their owners let an endpoint start them."""

    endpoint: str
    """Name of its stack."""
    allowed: tuple[str, ...]
    """ARNs that need no tag; a name may end in *."""
    build_tagging: Callable[[], Any]
    build_client: "Callable[[], SFNClient]"
    known: KnownTags
    changed: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    """Tags by ARN that an event has just brought: the list of tags lags behind it."""
    elsewhere: Callable[[str, str], Any] = nowhere
    """Returns the client of a Region under a role."""
    reads_left: int = MOST_READS
    trusts_events: bool = True
    """Whether a consent counts that was read or came by an event lately: an event that withdraws it may be lost."""

    @cached_property
    def _client(self) -> "SFNClient":
        return self.build_client()

    @cached_property
    def listed(self) -> Mapping[str, Mapping[str, str]]:
        """The tags of all state machines with the tag of this endpoint, by ARN. What all tools share is read once."""
        pages = (
            self.build_tagging()
            .get_paginator("get_resources")
            .paginate(
                TagFilters=[{"Key": CONSENT, "Values": [self.endpoint]}], ResourceTypeFilters=["states:stateMachine"]
            )
        )
        found = (one for page in pages for one in page["ResourceTagMappingList"])
        return {one.get("ResourceARN", ""): _tags(one.get("Tags", ()), "Key", "Value") for one in found}

    def tags_of(self, arn: str, role: str = "", *, serves: bool = False) -> Mapping[str, str]:
        """Return the tags of a state machine, from where they are known."""
        if role:  # of another account or Region, whose tags are not listed here
            return self._read_or_known(arn, role, READ_AGAIN_ELSEWHERE_AFTER, serves=serves)
        if is_listed(arn, self.allowed):
            return {CONSENT: self.endpoint}
        if arn in self.changed:
            self.known.keep(arn, self.changed[arn])
            return self.changed[arn]
        if arn in self.listed:
            return self.listed[arn]
        # The list lags behind; the tags themselves do not, but Step Functions tells them at one a second.
        return self._read_or_known(arn, role, READ_AGAIN_AFTER, serves=serves)

    def examine(self, arn: str, role: str = "") -> Examined:
        """Return what a state machine is, by its own ARN, a version's or an alias's."""
        machine, qualifier = unqualified(arn)
        try:
            client = self._client_for(arn, role)
            version = _version_of(client, arn) if qualifier else machine
            found = client.describe_state_machine(stateMachineArn=version)
        except ClientError as error:
            # AWS does not say whether the tag of a state machine lets in who describes its versions and aliases.
            if not qualifier or code_of(error) != _DENIED:
                raise _fault(error, arn) from error
            return self.examine(machine, role)
        except BotoCoreError as error:
            raise WorkflowsUnavailable from error
        if found.get("status") == "DELETING":
            raise CatalogError(f"state_machine: {arn} is being deleted")
        return Examined(Kind(found["type"]), found.get("definition", ""))

    def _client_for(self, arn: str, role: str) -> Any:
        return self.elsewhere(region_of(arn), role) if role else self._client

    def _read_or_known(self, arn: str, role: str, keep_for: timedelta, *, serves: bool) -> Mapping[str, str]:
        known = self.known.of(arn, keep_for)
        if known is None:
            return self._read(arn, role)
        # A tool that serves is taken away by the tags as they are now.
        is_enough = self.trusts_events or role if known.get(CONSENT) == self.endpoint else not serves
        return known if is_enough else self._read(arn, role)

    def _read(self, arn: str, role: str) -> Mapping[str, str]:
        if not self.reads_left:
            raise OutOfBudget
        self.reads_left -= 1
        try:
            found: Any = self._client_for(arn, role).list_tags_for_resource(resourceArn=arn)["tags"]
        except ClientError as error:
            if role and code_of(error) in _ROLE_DENIED:
                reason = f"role: {role} {_FAULTS[_ROLE_DENIAL]}, and to read the tags of {arn}"
                raise CatalogError(reason) from error
            if code_of(error) not in _NOT_THERE:
                raise WorkflowsUnavailable from error
            found = list[Any]()
        except BotoCoreError as error:
            raise WorkflowsUnavailable from error
        tags = _tags(found, "key", "value")
        self.known.keep(arn, tags)
        return tags


def _log_doubt(one: Registered, words: str) -> None:
    Logger().warning("a registered tool is doubtful", tool=one.tool, parameter=one.source, reason=words)


def _tags(found: Iterable[Mapping[str, str]], key: str, value: str) -> Mapping[str, str]:
    """Return tags by their keys; two services write them in two ways."""
    return {one[key]: one[value] for one in found}


def _version_of(client: Any, arn: str) -> str:
    """Return a version; of an alias, which DescribeStateMachine does not know, its most used version."""
    if arn.rpartition(":")[2].isdecimal():
        return arn
    routes = client.describe_state_machine_alias(stateMachineAliasArn=arn)["routingConfiguration"]
    return max(routes, key=lambda one: one["weight"])["stateMachineVersionArn"]


def _fault(error: ClientError, arn: str) -> CatalogError | WorkflowsUnavailable:
    """Return why a state machine cannot be described: for good, or for now."""
    code = code_of(error)
    if code in THROTTLED:
        return WorkflowsThrottled()
    if code in _NOT_THERE:
        machine, qualifier = unqualified(arn)
        of = f" of {machine}" if qualifier else ""
        return CatalogError(f"state_machine: there is no {qualifier or arn}{of}")
    if code in _FAULTS:
        return CatalogError(f"state_machine: {arn} {_FAULTS[code]}")
    return WorkflowsUnavailable()


class CatalogHandler:
    """Compiles and publishes the registered tools."""

    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._now = now
        self._known_tags = KnownTags(now)

    @builds_once
    def __call__(self, event: dict[str, Any], context: Any) -> None:
        """Compile what is registered, as the event may have changed it, as far as the time of this run goes."""
        machines = self._machines(event)
        compiler, done = self._compiler(event, machines, context), dict[str, CompiledTool]()
        for _ in range(_MOST_TRIES):
            read_at, (version, previous) = self._now(), self._published.load()
            registered, files = self._parameters.registered(_deletion_in(event))
            if registered:
                _ = machines.listed  # a fault here is no manifest's: the run fails and is repeated
            compiled = compiler.compile(registered, {**previous, **done}, self._published.earlier())
            compiled = compiler.with_files(compiled, files)
            try:
                self._published.publish(compiled, version, read_at, self._now())
            except SaveConflict:  # another event compiles at the same time
                compiler, done = replace(compiler, recheck=False), dict(compiled.tools)
                continue
            self._log(compiled)
            return
        raise StoreBusy

    def _machines(self, event: dict[str, Any]) -> TaggedStateMachines:
        return TaggedStateMachines(
            self._settings.endpoint.name,
            self._settings.allowed,
            tagging_client,
            patient_step_functions_client,
            self._known_tags,
            _tags_in(event),
            client_elsewhere,
            trusts_events=event.get("detail-type") != _SCHEDULED,
        )

    def _compiler(self, event: dict[str, Any], machines: TaggedStateMachines, context: Any) -> Compiler:
        return Compiler(
            self._settings.endpoint,
            machines,
            recheck=event.get("detail-type") == _SCHEDULED,
            release_tools=self._settings.release_tools,
            extras=self._settings.extras,
            has_time=partial(_has_time, context),
            owners=self._parameters.owners,
            doubt=_log_doubt,
        )

    def _log(self, compiled: Compiled) -> None:
        logger = Logger()
        for one in compiled.refusals:
            logger.warning(
                f"a registered {one.what} is refused",
                tool=one.tool,
                parameter=one.source,
                reason=one.reason,
                serves_previous=one.serves_previous,
            )
        logger.info(
            "the catalog was compiled",
            tools=len(compiled.tools),
            of_extras={name: len(parts or ()) for name, parts in compiled.files.items()},
            refused=len(compiled.refusals),
            waiting=len(compiled.waiting),
        )

    @cached_property
    def _settings(self) -> CatalogSettings:
        return read_catalog_settings(os.environ)

    @cached_property
    def _published(self) -> DynamoDbPublisher:
        return DynamoDbPublisher(Table(self._settings.table_name, patient_dynamodb_client))

    @cached_property
    def _parameters(self) -> Parameters:
        return Parameters(self._settings.path, ssm_client)


def _deletion_in(event: dict[str, Any]) -> Deletion | None:
    detail = event.get("detail", {})
    if event.get("detail-type") != _PARAMETER_CHANGED or detail.get("operation") != "Delete":
        return None
    return Deletion(detail["name"], datetime.fromisoformat(event["time"]))


def _tags_in(event: dict[str, Any]) -> Mapping[str, Mapping[str, str]]:
    """Read the tags that an event brings: those that the resources have now."""
    if event.get("detail-type") != _TAGS_CHANGED:
        return {}
    tags: dict[str, str] = event["detail"].get("tags", {})
    return {str(arn): tags for arn in event.get("resources", ())}


def _has_time(context: Any) -> bool:
    """Tell whether a run may begin another manifest; without a Lambda context, always."""
    return context is None or context.get_remaining_time_in_millis() > _TO_PUBLISH
