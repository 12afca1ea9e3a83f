"""What roles may do: each call that a function or a workflow makes is held against the policies of its role.

The rule is IAM's: what no statement allows is refused, and what one denies is refused whatever allows it. The calls of
the local stack itself have no role and are not looked at (clients.py). Not covered: the threads that a function starts
itself, policies of resources, conditions, managed policies.
"""

import logging
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

from botocore.exceptions import ClientError
from botocore.model import OperationModel

from local.actions import Need, Place, needs

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Statement:
    """A part of a policy."""

    allows: bool
    actions: Sequence[str]  # patterns, in lower case: their case does not count
    resources: Sequence[str]  # patterns
    sid: str = ""

    def speaks_of(self, need: Need) -> bool:
        """Tell whether it allows, or denies, just this."""
        return _matches_one(self.actions, need.action.lower()) and _matches_one(self.resources, need.resource)


@dataclass
class Role:
    """A role, and what the policies that are attached to it say."""

    arn: str
    statements: list[Statement] = field(default_factory=list[Statement])

    @property
    def name(self) -> str:
        """Return the role's name."""
        return self.arn.rpartition("/")[2]

    def may(self, need: Need) -> bool:
        """Tell whether something is allowed."""
        said = [statement.allows for statement in self.statements if statement.speaks_of(need)]
        return bool(said) and all(said)


@dataclass(frozen=True)
class Call:
    """Something that a role asked for."""

    role: str  # its name
    need: Need
    allowed: bool


Watcher = Callable[[Call], None]

_roles: dict[str, Role] = {}  # by ARN
_acting: ContextVar[Role | None] = ContextVar("acting", default=None)
_watchers: list[Watcher] = []


def register(role: Role) -> None:
    """Make a role known to what acts in it."""
    _roles[role.arn] = role


def unregister(role: Role) -> None:
    """Forget a role: its stack is going."""
    _roles.pop(role.arn, None)


def registered(arn: str) -> Role | None:
    """Return the role with this ARN, if it is one of a stack that runs."""
    return _roles.get(arn)


@contextmanager
def acting_as(role: Role | None) -> Generator[None]:
    """Hold the calls of the code in the block against a role; without one, they may do everything."""
    token = _acting.set(role)
    try:
        yield
    finally:
        _acting.reset(token)


@contextmanager
def watched(watcher: Watcher) -> Generator[None]:
    """Tell of every call of a role, allowed or not, until the block ends."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


def asks(role: Role, need: Need) -> bool:
    """Tell whether a role may do something that it is about to do; a refusal is in the log."""
    allowed = role.may(need)
    for watcher in _watchers.copy():
        watcher(Call(role.name, need, allowed))
    if not allowed:
        logger.warning("%s may not %s on %s.", role.name, need.action, need.resource)
    return allowed


def check(params: Mapping[str, Any], model: OperationModel, context: Mapping[str, Any], **_: object) -> None:
    """Refuse a call that the acting role may not make: a handler of botocore's event before-parameter-build."""
    role = _acting.get()
    # Who signs a URL calls nothing: AWS asks what the signer may do when somebody follows it.
    if role is None or context.get("is_presign_request"):
        return
    place = Place(context["client_region"], role.arn.split(":")[4])
    for need in needs(f"{model.service_model.service_name}.{model.name}", params, place):
        if not asks(role, need):
            raise _refusal(role, need, model.name)


def _refusal(role: Role, need: Need, operation: str) -> ClientError:
    message = (
        f"User: {role.arn} is not authorized to perform: {need.action} on resource: {need.resource} because no "
        f"identity-based policy allows the {need.action} action"
    )
    code = "AccessDenied" if need.action.startswith(("s3:", "sqs:")) else "AccessDeniedException"
    status = 403 if code == "AccessDenied" else 400
    metadata = {"HTTPStatusCode": status, "RequestId": "refused-locally", "RetryAttempts": 0}
    return ClientError(
        cast("Any", {"Error": {"Code": code, "Message": message}, "ResponseMetadata": metadata}), operation
    )


def statements_of(document: Mapping[str, Any]) -> list[Statement]:
    """Read a policy whose intrinsic functions are resolved, but for what `unread` names."""
    return [
        Statement(
            part["Effect"] == "Allow",
            [action.lower() for action in _listed(part["Action"])],
            _listed(part["Resource"]),
            part.get("Sid", ""),
        )
        for part in _listed(document["Statement"])
        if not _UNREAD & set(part)
    ]


def unread(document: Mapping[str, Any]) -> list[str]:
    """Name the statements of a policy that cannot be evaluated here, and so allow nothing."""
    return [
        f"{part.get('Sid', 'a statement')} with {', '.join(sorted(_UNREAD & set(part)))}"
        for part in _listed(document["Statement"])
        if _UNREAD & set(part)
    ]


_UNREAD = {"Condition", "NotAction", "NotResource"}


def _listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def _matches_one(patterns: Sequence[str], text: str) -> bool:
    return any(pattern == text or (_is_wide(pattern) and _expression(pattern).fullmatch(text)) for pattern in patterns)


@cache
def _is_wide(pattern: str) -> bool:
    return "*" in pattern or "?" in pattern


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    return re.compile(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)
