"""What owners have registered, in Systems Manager parameters, and what is known of their state machines."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from stepwire.aws.throttling import THROTTLED
from stepwire.aws.workflows.step_functions import code_of, nowhere
from stepwire.catalog.examination import Examined, Kind
from stepwire.catalog.registration import CONSENT, Registered
from stepwire.errors import CatalogError, WorkflowsThrottled, WorkflowsUnavailable
from stepwire.lean_dataclasses import dataclass, field
from stepwire.tasks.task import unqualified

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

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
_REGION: Final = 3  # part of an ARN
_ENCRYPTED: Final = "# a SecureString is not read: use the type String"


@dataclass(frozen=True)
class Parameters:
    """The parameters below a path, each with the manifest of a tool."""

    path: str
    """With a slash at its end."""
    build_client: Callable[[], Any]

    def registered(self) -> list[Registered]:
        """Return all that is registered, ten parameters a call."""
        pages = self.build_client().get_paginator("get_parameters_by_path").paginate(Path=self.path)
        return [_registered(self.path, one) for page in pages for one in page["Parameters"]]


def _registered(path: str, parameter: Any) -> Registered:
    name: str = parameter["Name"]
    text: str = _ENCRYPTED if parameter["Type"] == "SecureString" else parameter["Value"]
    return Registered(name.removeprefix(path), name, text)


@dataclass(frozen=True)
class TaggedStateMachines:
    """State machines, and whether their owners let an endpoint start them."""

    endpoint: str
    """Name of its stack."""
    allowed: tuple[str, ...]
    """ARNs that need no tag; a name may end in *."""
    build_tagging: Callable[[], Any]
    build_client: "Callable[[], SFNClient]"
    changed: Mapping[str, bool] = field(default_factory=dict[str, bool])
    """Consent by ARN that an event has just brought: the list of tags lags behind it."""
    elsewhere: Callable[[str, str], Any] = nowhere
    """Returns the client of a Region under a role."""

    @cached_property
    def _client(self) -> "SFNClient":
        return self.build_client()

    @cached_property
    def _tagged(self) -> frozenset[str]:
        pages = (
            self.build_tagging()
            .get_paginator("get_resources")
            .paginate(
                TagFilters=[{"Key": CONSENT, "Values": [self.endpoint]}], ResourceTypeFilters=["states:stateMachine"]
            )
        )
        found = (one for page in pages for one in page["ResourceTagMappingList"])
        return frozenset(one.get("ResourceARN", "") for one in found)

    def has_consent(self, arn: str, role: str = "") -> bool:
        """Tell whether a state machine may be started."""
        if role:  # of another account or Region, whose tags are not listed here
            return self._is_tagged(arn, role)
        if any(_matches(pattern, arn) for pattern in self.allowed):
            return True
        if arn in self.changed:
            return self.changed[arn]
        # The list lags behind; the tags themselves do not, but Step Functions tells them at one a second.
        return arn in self._tagged or self._is_tagged(arn, role)

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
        return self.elsewhere(arn.split(":")[_REGION], role) if role else self._client

    def _is_tagged(self, arn: str, role: str) -> bool:
        try:
            tags = self._client_for(arn, role).list_tags_for_resource(resourceArn=arn)["tags"]
        except ClientError as error:
            if code_of(error) in _NOT_THERE:
                return False
            if role and code_of(error) in _ROLE_DENIED:
                raise CatalogError(f"role: {role} {_FAULTS[_ROLE_DENIAL]}, and to read the tags of {arn}") from error
            raise WorkflowsUnavailable from error
        except BotoCoreError as error:
            raise WorkflowsUnavailable from error
        return {"key": CONSENT, "value": self.endpoint} in tags


def _version_of(client: Any, arn: str) -> str:
    """Return a version; of an alias, which DescribeStateMachine does not know, its most used version."""
    if arn.rpartition(":")[2].isdecimal():
        return arn
    routes = client.describe_state_machine_alias(stateMachineAliasArn=arn)["routingConfiguration"]
    return max(routes, key=lambda one: one["weight"])["stateMachineVersionArn"]


def _fault(error: ClientError, arn: str) -> CatalogError | WorkflowsUnavailable:
    """Return why a state machine cannot be described: for good, or for now."""
    code = code_of(error)
    if code in THROTTLED or code == "KmsThrottlingException":
        return WorkflowsThrottled()
    if code in _NOT_THERE:
        machine, qualifier = unqualified(arn)
        of = f" of {machine}" if qualifier else ""
        return CatalogError(f"state_machine: there is no {qualifier or arn}{of}")
    if code in _FAULTS:
        return CatalogError(f"state_machine: {arn} {_FAULTS[code]}")
    return WorkflowsUnavailable()


def _matches(pattern: str, arn: str) -> bool:
    return arn.startswith(pattern[:-1]) if pattern.endswith("*") else arn == pattern
