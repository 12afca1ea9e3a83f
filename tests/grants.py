"""What the policies of a stack on the local stack allow, and which of it was never used."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from stepwire_local.account.engine import ACCOUNT
from stepwire_local.cloudformation.deployment import Deployment
from stepwire_local.iam.permissions import Call, Role, Statement, registered


@dataclass(frozen=True)
class Grant:
    """One action on one resource that a statement allows."""

    holder: str  # the logical id of the role
    statement: str
    action: str
    resource: str  # a pattern, with logical ids for the names of the stack's resources


def roles_of(deployment: Deployment) -> dict[str, Role]:
    """Return the roles of a stack by their logical ids."""
    names = deployment.physical_ids.items()
    found = {logical_id: registered(f"arn:aws:iam::{ACCOUNT}:role/{name}") for logical_id, name in names}
    return {logical_id: role for logical_id, role in found.items() if role is not None}


def unused(roles: Mapping[str, Role], calls: Sequence[Call]) -> set[Grant]:
    """Return what the roles are granted, one action and one resource at a time, and no call used."""
    return {
        Grant(holder, statement.sid, action, re.sub(r"local-\d+-", "", resource))
        for holder, role in roles.items()
        for statement in role.statements
        for action in statement.actions
        for resource in statement.resources
        if not _is_used(role, replace(statement, actions=[action], resources=[resource]), calls)
    }


def _is_used(role: Role, grant: Statement, calls: Sequence[Call]) -> bool:
    return any(call.role == role.name and grant.applies_to(call.need) for call in calls)
