"""What the provisioner knows of a resource type, and the state that resource creation reads and extends."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from stepwire_local.gateway.exchanges import Exchange
from stepwire_local.gateway.function_urls import FunctionUrl
from stepwire_local.gateway.http_api import Api, Integration, Route
from stepwire_local.gateway.jwt_tokens import JwtAuthorizer
from stepwire_local.iam.actions import Need
from stepwire_local.iam.clients import aws_client
from stepwire_local.iam.permissions import Role
from stepwire_local.lambdas.functions import Function, registered
from stepwire_local.streams.mappings import Mapping as StreamMapping
from stepwire_local.streams.queues import QueueMapping
from stepwire_local.streams.schedules import Schedule
from stepwire_local.stubs.book import Book


@dataclass(frozen=True)
class Resource:
    """A resource of the template with its properties resolved."""

    logical_id: str
    kind: str
    properties: Mapping[str, Any]
    code: str = ""  # a signature of the files in the folder of its code
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])  # how it is built, for example


@dataclass(frozen=True)
class Created:
    """What other resources can refer to: the resource's Ref and attributes."""

    reference: str
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Change:
    """A resource whose properties or code differ from those that it was created with."""

    before: Resource
    after: Resource
    created: Created


@dataclass
class World:
    """The resources and notes of a stack so far; each created resource adds to it."""

    stack: str
    account: str
    region: str
    folders: Mapping[str, Path] = field(default_factory=dict[str, Path])
    unique: str = field(default_factory=lambda: str(uuid.uuid4()))
    instances: int = 1  # of each function
    layers: list[Path] = field(default_factory=list[Path])
    functions: dict[str, Function] = field(default_factory=dict[str, Function])  # by logical id
    roles: dict[str, Role] = field(default_factory=dict[str, Role])  # by name
    state_machines: list[str] = field(default_factory=list[str])  # ARNs
    tables: list[str] = field(default_factory=list[str])  # names
    parameters: list[str] = field(default_factory=list[str])  # names
    mappings: list[StreamMapping | QueueMapping] = field(default_factory=list[StreamMapping | QueueMapping])
    schedules: dict[str, Schedule] = field(default_factory=dict[str, Schedule])  # by logical id
    api: Api | None = None  # without its routes
    authorizers: dict[str, JwtAuthorizer] = field(default_factory=dict[str, JwtAuthorizer])  # by id
    integrations: dict[str, Integration] = field(default_factory=dict[str, Integration])  # by id
    routes: list[Route] = field(default_factory=list[Route])
    urls: list[FunctionUrl] = field(default_factory=list[FunctionUrl])
    port: int = 0  # that the API was given; 0: any
    answered: Callable[[Exchange], None] = lambda _: None  # gets the requests to function URLs
    notes: list[str] = field(default_factory=list[str])  # what of these resources is not served, or not as in AWS
    differences: list[str] = field(default_factory=list[str])  # from AWS, of every resource of some type
    stubs: Book = field(default_factory=Book)
    services_url: Callable[[], str] = lambda: ""  # of the account's services, for processes that call them
    variables: Mapping[str, str] = field(default_factory=dict[str, str])  # of each function, beside the template's
    is_endpoint: bool = True  # the first stack, without whose functions nothing serves
    taken_over: Mapping[str, str] = field(default_factory=dict[str, str])  # names of what was there, by logical id

    @property
    def stack_id(self) -> str:
        """Return the stack's id."""
        return self.arn("cloudformation", f"stack/{self.stack}/{self.unique}")

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
    """A resource type: how to create one, and which properties it serves or can ignore without loss."""

    create: Callable[[Resource, World], Created]
    served: Sequence[str] = ()
    # Without effect here: descriptive properties, and those that the note covers.
    harmless: Sequence[str] = ()
    note: str = ""  # the difference from AWS for every resource of this type
    # How a running stack takes a change over; None: not without a restart.
    update: Callable[[Change, World], Created] | None = None
    # How it removes one; None: it stays, without effect.
    remove: Callable[[Resource, Created, World], None] | None = None
    # Which stub stands for a resource: a text that changes with it; None: none ever does.
    stub: Callable[[str, Mapping[str, Any], World], str] | None = None
    can_be_spared: bool = False  # whether the rest is served if one cannot be

    def ignored(self, resource: Resource) -> list[str]:
        """Return the properties of a resource that have no effect."""
        return [name for name in resource.properties if name not in {*self.served, *self.harmless, *_WORDS}]


_WORDS = ("Description", "Tags")

NOT_SERVED = "-is-not-served-locally"
"""The end of what Ref and GetAtt give for a resource that is not served."""


def named(resource: Resource, world: World) -> Created:
    """Create a resource that has a name and nothing else."""
    return Created(world.name(resource))


def keep(change: Change, _world: World) -> Created:
    """Take over a change that has no effect here."""
    return change.created


def destination(resource: Resource, arn: str | None, what: str, world: World) -> str | None:
    """Return the ARN of the queue or topic that gets what has failed; note that anything else does not get it."""
    if arn is None or f"{arn}::".split(":")[2] in _WRITES:
        return arn
    world.notes.append(f"{resource.logical_id}: {what} do not go to {arn}: only queues and topics are served")
    return None


def needs_of(destination: str | None) -> list[Need]:
    """Return the permission that Lambda needs in a function's role to write there."""
    return [Need(_WRITES[destination.split(":")[2]], destination)] if destination else []


_WRITES = {"sns": "sns:Publish", "sqs": "sqs:SendMessage"}


def fault_of_function(arn: str) -> str:
    """Return why a function can get no events; empty if it can."""
    try:
        registered(arn)
    except KeyError:
        return "no template here has this function"
    return ""


NOT_ENFORCED = "permissions: policies of roles are enforced; those of resources, that let others in, are not"


def picked(properties: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the named properties that are set."""
    return {name: properties[name] for name in names if name in properties}


def typed(client: Any, operation: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a call with the types that it takes: CloudFormation makes numbers and flags of texts."""
    return _typed(client.meta.service_model.operation_model(operation).input_shape, parameters)


def _typed(shape: Any, value: Any) -> Any:
    if shape is None:
        return value
    if isinstance(value, Mapping) and shape.type_name == "structure":
        entries = cast("Mapping[str, Any]", value)
        return {name: _typed(shape.members.get(name), entry) for name, entry in entries.items()}
    if isinstance(value, list) and shape.type_name == "list":
        return [_typed(shape.member, entry) for entry in cast("list[Any]", value)]
    if isinstance(value, str) and shape.type_name in ("integer", "long"):
        return int(value) if value.strip().lstrip("-").isdecimal() else value
    if isinstance(value, str) and shape.type_name == "boolean":
        return value.casefold() == "true"
    return str(value) if shape.type_name == "string" and isinstance(value, int | float) else cast("Any", value)
