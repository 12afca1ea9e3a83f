"""Permissions: checks each call of a function or a workflow against the policies of its role.

The rule is IAM's: a call needs a statement that allows it and none that denies it. Calls of the local stack itself have
no role and are not checked (clients.py), nor are those to Step Functions in another account or Region, which take
a role of theirs. Of conditions, StringEquals on aws:ResourceTag/... and ForAllValues:StringLike on
dynamodb:LeadingKeys are evaluated. Not covered:
threads that a function starts, resource policies, other conditions, managed policies that roles.py does not know.
"""

import logging
import os
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, cast

from botocore.exceptions import ClientError
from botocore.model import OperationModel

from stepwire_local.iam.actions import Need, Place, needs
from stepwire_local.iam.tags import tags_of
from stepwire_local.iam.tokens import machine_of

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Statement:
    """A statement of a policy."""

    allows: bool
    actions: Sequence[str]  # patterns, in lower case: their case does not count
    resources: Sequence[str]  # patterns
    sid: str = ""
    tags: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """Values that the resource must have one of, by the key of the tag."""
    leading_keys: Sequence[str] = ()
    """Patterns, one of which the partition key of each item must match; empty: any key."""

    def applies_to(self, need: Need) -> bool:
        """Return whether the statement applies to a needed permission."""
        on_it = any(_matches_one(self.resources, one) for one in (need.resource, need.parent) if one)
        is_meant = on_it and _matches_one(self.actions, need.action.lower())
        return is_meant and self._has_the_tags(need.resource) and self._has_the_keys(need.leading_keys)

    def _has_the_keys(self, keys: Sequence[str]) -> bool:
        # Stricter than IAM, whose ForAllValues holds where a call names no key.
        return not self.leading_keys or (bool(keys) and all(_matches_one(self.leading_keys, key) for key in keys))

    def _has_the_tags(self, resource: str) -> bool:
        tags: Mapping[str, str] = tags_of(resource) if self.tags else {}
        return all(tags.get(key) in values for key, values in self.tags.items())


@dataclass
class Role:
    """A role with the statements of its policies."""

    arn: str
    statements: list[Statement] = field(default_factory=list[Statement])
    ignored: list[str] = field(default_factory=list[str])
    """Names of its managed policies that are unknown here."""

    @property
    def name(self) -> str:
        """Return the role's name."""
        return self.arn.rpartition("/")[2]

    def may(self, need: Need) -> bool:
        """Return whether the role allows a needed permission."""
        said = [statement.allows for statement in self.statements if statement.applies_to(need)]
        return bool(said) and all(said)


@dataclass(frozen=True)
class Call:
    """A permission that a role needed, and whether it was allowed."""

    role: str  # its name
    need: Need
    allowed: bool


Watcher = Callable[[Call], None]

_REGION, _ACCOUNT = 3, 4  # parts of an ARN
_roles: dict[str, Role] = {}  # by ARN
_acting: ContextVar[Role | None] = ContextVar("acting", default=None)
_watchers: list[Watcher] = []


def register(role: Role) -> None:
    """Register a role, so that calls under its ARN are checked."""
    _roles[role.arn] = role


def unregister(role: Role) -> None:
    """Remove a role: its stack is stopping."""
    _roles.pop(role.arn, None)


def registered(arn: str) -> Role | None:
    """Return the role with this ARN, if a running stack has it."""
    return _roles.get(arn)


def all_registered() -> Sequence[Role]:
    """Return the roles of all running stacks."""
    return tuple(_roles.values())


@contextmanager
def acting_as(role: Role | None) -> Generator[None]:
    """Check the calls in the block against a role; without a role, every call is allowed."""
    token = _acting.set(role)
    try:
        yield
    finally:
        _acting.reset(token)


@contextmanager
def watched(watcher: Watcher) -> Generator[None]:
    """Report every call of a role, allowed or not, until the block ends."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


def allows(role: Role, need: Need) -> bool:
    """Return whether a role allows a call that it is about to make; log a refusal."""
    allowed = role.may(need)
    for watcher in _watchers.copy():
        watcher(Call(role.name, need, allowed))
    if not allowed:
        logger.warning("%s may not %s on %s.", role.name, need.action, need.resource)
    return allowed


def check(params: Mapping[str, Any], model: OperationModel, context: Mapping[str, Any], **_: object) -> None:
    """Refuse a call that the acting role does not allow: a handler of botocore's event before-parameter-build."""
    role = _acting.get()
    # Presigning a URL makes no call: AWS checks the signer's permissions when the URL is used.
    if role is None or context.get("is_presign_request"):
        return
    place = Place(context["client_region"], role.arn.split(":")[_ACCOUNT])
    home = os.environ.get("AWS_REGION")
    if refusal := refusal_of(role, f"{model.service_model.service_name}.{model.name}", params, place, home):
        raise refusal


def refusal_of(
    role: Role, operation: str, params: Mapping[str, Any], place: Place, home: str | None
) -> ClientError | None:
    """Return the error of a call that a role does not allow; None if it does. `home` is the Region of its stack.

    Raises:
        UnknownOperation: the operation is not simulated.
    """
    for need in (_located(need, params, place) for need in needs(operation, params, place)):
        if not _is_elsewhere(need, role, home) and not allows(role, need):
            return _refusal(role, need, operation.partition(".")[2])
    return None


def _located(need: Need, params: Mapping[str, Any], place: Place) -> Need:
    """Return what an answer to a task token needs: its action on the state machine that issued the token."""
    machine = machine_of(params["taskToken"], place.region, place.account) if "taskToken" in params else None
    return need if machine is None else replace(need, resource=machine)


def _is_elsewhere(need: Need, role: Role, home: str | None) -> bool:
    """Return whether a call is made under a role of another account or Region, whose policies are not known here."""
    parts = need.resource.split(":")
    if not need.action.startswith("states:") or len(parts) <= _ACCOUNT:
        return False
    return (parts[_REGION], parts[_ACCOUNT]) != (home, role.arn.split(":")[_ACCOUNT])


_CODES: Mapping[str, str] = {"s3": "AccessDenied", "sns": "AuthorizationError", "sqs": "AccessDenied"}
"""The code of a refusal, by service; of the others it is AccessDeniedException."""


def _refusal(role: Role, need: Need, operation: str) -> ClientError:
    message = (
        f"User: {role.arn} is not authorized to perform: {need.action} on resource: {need.resource} because no "
        f"identity-based policy allows the {need.action} action"
    )
    if role.ignored:
        message += f" (unknown here, and so ignored: {', '.join(dict.fromkeys(role.ignored))})"
    code = _CODES.get(need.action.partition(":")[0], "AccessDeniedException")
    status = 400 if code == "AccessDeniedException" else 403
    metadata = {"HTTPStatusCode": status, "RequestId": "refused-locally", "RetryAttempts": 0}
    return ClientError(
        cast("Any", {"Error": {"Code": code, "Message": message}, "ResponseMetadata": metadata}), operation
    )


def statements_of(document: Mapping[str, Any]) -> list[Statement]:
    """Return the statements of a policy with resolved intrinsic functions, except those that `unread` names."""
    return [
        Statement(
            part["Effect"] == "Allow",
            [action.lower() for action in _listed(part["Action"])],
            _listed(part["Resource"]),
            part.get("Sid", ""),
            _tags(part.get("Condition", {})),
            _listed(part.get("Condition", {}).get(_FOR_ALL, {}).get(_LEADING_KEYS, [])),
        )
        for part in _listed(document["Statement"])
        if not _unread(part)
    ]


def unread(document: Mapping[str, Any]) -> list[str]:
    """Return the names of the statements that cannot be evaluated here, and so allow nothing."""
    return [
        f"{part.get('Sid', 'a statement')} with {', '.join(_unread(part))}"
        for part in _listed(document["Statement"])
        if _unread(part)
    ]


_RESOURCE_TAG = "aws:ResourceTag/"
_FOR_ALL = "ForAllValues:StringLike"
_LEADING_KEYS = "dynamodb:LeadingKeys"


def _unread(part: Mapping[str, Any]) -> list[str]:
    """Name what this cannot evaluate of a statement."""
    condition: Mapping[str, Mapping[str, Any]] = part.get("Condition", {})
    keys = [key for test, entries in condition.items() for key in entries if not _is_read(test, key)]
    return [*sorted({"NotAction", "NotResource"} & set(part)), *(["Condition"] if keys else [])]


def _tags(condition: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Sequence[str]]:
    wanted = condition.get("StringEquals", {})
    return {key.removeprefix(_RESOURCE_TAG): _listed(values) for key, values in wanted.items()}


def _is_read(test: str, key: str) -> bool:
    return (test == "StringEquals" and key.startswith(_RESOURCE_TAG)) or (test, key) == (_FOR_ALL, _LEADING_KEYS)


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
