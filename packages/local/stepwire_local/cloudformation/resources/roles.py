"""Roles and their policies: what functions and workflows may call (see iam/permissions.py)."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from stepwire_local.cloudformation.resources.kinds import NOT_ENFORCED, Change, Created, Kind, Resource, World
from stepwire_local.errors import TemplateError
from stepwire_local.iam import permissions
from stepwire_local.iam.actions import ANY, Need
from stepwire_local.iam.permissions import Role, Statement

# The calls that Lambda makes in a function's role to read a stream.
STREAM_READS = ("DescribeStream", "GetRecords", "GetShardIterator", "ListStreams")
# The calls that Lambda makes in a function's role to read a queue.
QUEUE_READS = ("ReceiveMessage", "DeleteMessage", "GetQueueAttributes")

# What the managed policies allow whose actions are a few.
_MANAGED: Mapping[str, Sequence[str]] = {
    "service-role/AWSLambdaBasicExecutionRole": (),  # the logs, which all policies for Lambda allow, go to the terminal
    "service-role/AWSLambdaVPCAccessExecutionRole": (),
    "AWSXrayWriteOnlyAccess": (),
    "AWSXRayDaemonWriteAccess": (),
    "CloudWatchLogsFullAccess": (),
    "service-role/AWSLambdaDynamoDBExecutionRole": tuple(f"dynamodb:{name}" for name in STREAM_READS),
    "AWSLambdaInvocation-DynamoDB": ("lambda:InvokeFunction", *(f"dynamodb:{name}" for name in STREAM_READS)),
    "service-role/AWSLambdaSQSQueueExecutionRole": tuple(f"sqs:{name}" for name in QUEUE_READS),
    "service-role/AWSLambdaRole": ("lambda:InvokeFunction",),
    "AWSLambdaExecute": ("s3:GetObject", "s3:PutObject"),
    "AdministratorAccess": ("*",),
    "PowerUserAccess": ("*",),
    "ReadOnlyAccess": ("*:Get*", "*:List*", "*:Describe*", "*:BatchGet*", "*:Query", "*:Scan"),
}

# All others are named after their service, and what they allow of it.
_SERVICE_POLICY: Final = re.compile(
    r"(?:service-role/)?(?:AWS|Amazon|CloudWatch)?(?P<service>\w+?)_?(?P<extent>FullAccess|ReadOnlyAccess|ReadOnly)(?:_?v\d+)?"
)
_SERVICES: Final[Mapping[str, str]] = {
    "lambda": "lambda",
    "dynamodb": "dynamodb",
    "s3": "s3",
    "sqs": "sqs",
    "sns": "sns",
    "ssm": "ssm",
    "stepfunctions": "states",
    "eventbridge": "events",
    "events": "events",
    "secretsmanager": "secretsmanager",
    "secretsmanagerreadwrite": "secretsmanager",
}
_READS: Final = ("Get*", "List*", "Describe*", "BatchGet*", "Query", "Scan", "Receive*")


def _managed(arn: str) -> list[Statement] | None:
    """Return what a managed policy of AWS allows; None if it is unknown here."""
    name = arn.partition("policy/")[2]
    known = _MANAGED.get(name, _MANAGED.get(f"service-role/{name}"))
    if known is None and (found := _SERVICE_POLICY.fullmatch(name)):
        service = _SERVICES.get(found["service"].casefold())
        wanted = ("*",) if found["extent"] == "FullAccess" else _READS
        known = tuple(f"{service}:{action}" for action in wanted) if service else None
    if known is None:
        return None
    return [Statement(True, [action.lower() for action in known], [ANY])] if known else []  # noqa: FBT003  # read as a sentence


def role_of(resource: Resource, arn: str, world: World) -> Role | None:
    """Return the role that a resource names; a role from outside the template is not enforced."""
    role = permissions.registered(arn)
    if role is None:
        world.notes.append(f"{resource.logical_id}: its role {arn} is not of this template, so every call is allowed")
    return role


def check_allowed(resource: Resource, role: Role | None, needs: Iterable[Need]) -> None:
    """Check that a function's role allows the calls that Lambda makes in it, as AWS does at deployment.

    Raises:
        TemplateError: the role does not allow one of these calls.
    """
    for need in needs:
        if role is not None and not permissions.allows(role, need):
            raise TemplateError(f"{resource.logical_id}: {role.name} may not {need.action} on {need.resource}.")


def _role(resource: Resource, world: World) -> Created:
    name: str = resource.properties.get("RoleName", world.name(resource))
    trust = json.dumps(resource.properties["AssumeRolePolicyDocument"])
    made = world.client("iam").create_role(RoleName=name, AssumeRolePolicyDocument=trust)["Role"]
    role = Role(made["Arn"])
    permissions.register(role)
    world.roles[name] = role
    _fill(resource, world, role)
    return Created(name, {"Arn": role.arn, "RoleId": made["RoleId"]})


def _changed_role(change: Change, world: World) -> Created:
    if change.before.properties.get("RoleName") != change.after.properties.get("RoleName"):
        raise TemplateError(f"{change.after.logical_id}: its name changes by a restart only.")
    role, held = world.roles[change.created.reference], Role("before")
    _fill(change.before, world, held)
    others = [one for one in role.statements if one not in held.statements]  # of policies that stand apart
    role.statements[:] = others
    _fill(change.after, world, role)
    return change.created


def _fill(resource: Resource, world: World, role: Role) -> None:
    for policy in resource.properties.get("Policies", ()):
        _attach(resource, world, role, policy["PolicyDocument"])
    for managed in resource.properties.get("ManagedPolicyArns", ()):
        known = _managed(str(managed))
        role.statements += known or ()
        if known is None:
            role.ignored.append(str(managed).rpartition("/")[2])
            world.notes.append(f"{resource.logical_id}: the managed policy {managed} is unknown here and ignored")


def _policy(resource: Resource, world: World) -> Created:
    for name in resource.properties.get("Roles", ()):
        if name in world.roles:
            _attach(resource, world, world.roles[name], resource.properties["PolicyDocument"])
        else:
            world.notes.append(f"{resource.logical_id}: its role {name} is not of this template")
    return Created(world.name(resource))


def _changed_policy(change: Change, world: World) -> Created:
    _removed_policy(change.before, change.created, world)
    return _policy(change.after, world)


def _removed_policy(resource: Resource, _created: Created, world: World) -> None:
    gone = permissions.statements_of(resource.properties["PolicyDocument"])
    for name in resource.properties.get("Roles", ()):
        if name in world.roles:
            kept = [one for one in world.roles[name].statements if one not in gone]
            world.roles[name].statements[:] = kept


def _attach(resource: Resource, world: World, role: Role, document: Mapping[str, Any]) -> None:
    if not document.get("Statement"):
        raise TemplateError(
            f"{resource.logical_id}: a policy has no statement, which IAM refuses; leave the policy out."
        )
    role.statements += permissions.statements_of(document)
    for statement in permissions.unread(document):
        world.notes.append(f"{resource.logical_id}: {statement} is not evaluated here, and allows nothing")


KINDS = {
    "AWS::IAM::Role": Kind(
        _role,
        served=("RoleName", "AssumeRolePolicyDocument", "Policies", "ManagedPolicyArns"),
        harmless=("MaxSessionDuration", "Path", "PermissionsBoundary"),
        note=NOT_ENFORCED,
        update=_changed_role,
    ),
    "AWS::IAM::Policy": Kind(
        _policy,
        served=("PolicyDocument", "Roles"),
        harmless=("PolicyName",),
        note=NOT_ENFORCED,
        update=_changed_policy,
        remove=_removed_policy,
    ),
    "AWS::IAM::ManagedPolicy": Kind(
        _policy,
        served=("PolicyDocument", "Roles"),
        harmless=("ManagedPolicyName", "Path"),
        note=NOT_ENFORCED,
        update=_changed_policy,
        remove=_removed_policy,
    ),
}
