"""What a kind of resource is to the provisioner, and the world that resources are created in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from local.clients import aws_client
from local.cors import Cors
from local.functions import Function
from local.http_api import Integration, Route
from local.jwt_tokens import JwtAuthorizer
from local.permissions import Role
from local.stream_mappings import Mapping as StreamMapping


@dataclass(frozen=True)
class Resource:
    """A resource of the template with its properties resolved."""

    logical_id: str
    kind: str
    properties: Mapping[str, Any]


@dataclass(frozen=True)
class Created:
    """What the rest of the template sees of a resource: its Ref and its attributes."""

    reference: str
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass
class World:
    """What exists already, and what was noticed on the way. Filled by the resources as they are created."""

    stack: str
    account: str
    region: str
    folders: Mapping[str, Path]
    instances: int = 1  # of each function
    layers: list[Path] = field(default_factory=list[Path])
    functions: dict[str, Function] = field(default_factory=dict[str, Function])  # by logical id
    roles: dict[str, Role] = field(default_factory=dict[str, Role])  # by name
    state_machines: list[str] = field(default_factory=list[str])  # ARNs
    tables: list[str] = field(default_factory=list[str])  # names
    mappings: list[StreamMapping] = field(default_factory=list[StreamMapping])
    apis: list[str] = field(default_factory=list[str])  # ids
    cors: Cors | None = None  # of the API
    authorizers: dict[str, JwtAuthorizer] = field(default_factory=dict[str, JwtAuthorizer])  # by id
    integrations: dict[str, Integration] = field(default_factory=dict[str, Integration])  # by id
    routes: list[Route] = field(default_factory=list[Route])
    notes: list[str] = field(default_factory=list[str])

    def client(self, service: str) -> Any:
        """Return a boto3 client of the simulated account."""
        return aws_client(service, self.region)

    def name(self, resource: Resource) -> str:
        """Return a physical name, unique in the account."""
        return f"{self.stack}-{resource.logical_id}"

    def arn(self, service: str, tail: str) -> str:
        """Return an ARN of this account and region."""
        return f"arn:aws:{service}:{self.region}:{self.account}:{tail}"


@dataclass(frozen=True)
class Kind:
    """A resource type: how to create one, and which properties it serves or may leave aside without loss."""

    create: Callable[[Resource, World], Created]
    served: Sequence[str] = ()
    # Without effect here: words about the resource, and what the note of its kind speaks of.
    harmless: Sequence[str] = ()
    note: str = ""  # what is different here for every resource of this kind

    def ignored(self, resource: Resource) -> list[str]:
        """Return the properties that this resource sets to no effect."""
        return [name for name in resource.properties if name not in {*self.served, *self.harmless, *_WORDS}]


_WORDS = ("Description", "Tags")

NOT_ENFORCED = "permissions: policies of roles are enforced; those of resources, that let others in, are not"


def picked(properties: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the named properties that are there."""
    return {name: properties[name] for name in names if name in properties}
