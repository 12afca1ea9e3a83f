"""What owners have registered, in Systems Manager parameters, and what is known of their state machines."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from stepwire.aws.workflows.step_functions import code_of
from stepwire.catalog.registration import CONSENT, Kind, Registered
from stepwire.errors import WorkflowsUnavailable
from stepwire.tasks.task import unqualified

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

_NOT_THERE: Final = frozenset({"StateMachineDoesNotExist", "ResourceNotFound", "InvalidArn"})
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

    def has_consent(self, arn: str) -> bool:
        """Tell whether a state machine may be started."""
        if any(_matches(pattern, arn) for pattern in self.allowed):
            return True
        if arn in self.changed:
            return self.changed[arn]
        # The list lags behind; the tags themselves do not, but Step Functions tells them at one a second.
        return arn in self._tagged or self._is_tagged(arn)

    def kind_of(self, arn: str) -> Kind:
        """Return what a state machine is, by its own ARN, a version's or an alias's."""
        machine, qualifier = unqualified(arn)
        # DescribeStateMachine knows versions and no aliases; the type is the state machine's in any case.
        described = arn if qualifier.isdecimal() else machine
        try:
            return Kind(self._client.describe_state_machine(stateMachineArn=described)["type"])
        except ClientError as error:
            if code_of(error) in _NOT_THERE:
                return Kind.MISSING
            raise WorkflowsUnavailable from error
        except BotoCoreError as error:
            raise WorkflowsUnavailable from error

    def _is_tagged(self, arn: str) -> bool:
        try:
            tags = self._client.list_tags_for_resource(resourceArn=arn)["tags"]
        except ClientError as error:
            if code_of(error) in _NOT_THERE:
                return False
            raise WorkflowsUnavailable from error
        except BotoCoreError as error:
            raise WorkflowsUnavailable from error
        return {"key": CONSENT, "value": self.endpoint} in tags


def _matches(pattern: str, arn: str) -> bool:
    return arn.startswith(pattern[:-1]) if pattern.endswith("*") else arn == pattern
