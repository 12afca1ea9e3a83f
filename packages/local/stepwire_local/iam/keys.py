"""Access keys of roles: what a process of its own signs its calls with, so that they are judged by its role.

The rule: a key is good while a running stack has its role. Nobody checks signatures, so its secret is none.
"""

import hashlib
from collections.abc import Mapping
from typing import Final

from stepwire_local.iam import permissions
from stepwire_local.iam.permissions import Role

_PREFIX: Final = "LOCALROLE"
_LENGTH: Final = 16


def credentials_of(role: Role) -> Mapping[str, str]:
    """Return the environment variables that stand for a role."""
    return {"AWS_ACCESS_KEY_ID": _key(role), "AWS_SECRET_ACCESS_KEY": "not-a-secret", "AWS_SESSION_TOKEN": "local"}


def is_of_a_role(key: str) -> bool:
    """Return whether an access key stands for a role, which may be gone."""
    return key.startswith(_PREFIX)


def role_with(key: str) -> Role | None:
    """Return the role with this access key, if a running stack has it."""
    return next((role for role in permissions.all_registered() if _key(role) == key), None)


def _key(role: Role) -> str:
    return _PREFIX + hashlib.sha256(role.arn.encode()).hexdigest()[:_LENGTH].upper()
