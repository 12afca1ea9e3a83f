"""What an operator needs in IAM to do something about one caller: a policy for each kind of work.

Pure. The rules: blocking and erasing are the work of two people. Each of the two policies denies the other's function,
so whoever is given both can do neither. Only the policy to read lets anybody see more of a task than its keys.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from stepwire_cli.account.commanding import BLOCKS, TASKS
from stepwire_cli.account.erasing import ERASURES


class Work(StrEnum):
    """What somebody may do about a caller, beside finding it."""

    READ = "read"
    """`show` and `export`."""
    BLOCK = "block"
    """`block` and `unblock`."""
    CANCEL = "cancel"
    """`cancel-all`; also redrives and the commands about lines, which are of the same function."""
    ERASE = "erase"


_FUNCTIONS: Mapping[Work, str] = {Work.BLOCK: BLOCKS, Work.CANCEL: TASKS, Work.ERASE: ERASURES}
_DENIED: Mapping[Work, str] = {Work.BLOCK: ERASURES, Work.ERASE: BLOCKS}
FUNCTIONS = tuple(_FUNCTIONS.values())
"""The logical ids of the functions that do an operator's work."""
_KEYS_ALONE: Mapping[str, Any] = {
    # Those of the table and of its index: DynamoDB refuses a request for one that is not listed.
    "ForAllValues:StringEquals": {"dynamodb:Attributes": ["pk", "sk", "open", "checked_at"]},
    # Without it, a request that names no attribute would get all.
    "StringEquals": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"},
}


@dataclass(frozen=True)
class Names:
    """The names of a stack's parts in its account."""

    partition: str
    region: str
    account: str
    stack: str
    table: str
    bucket: str
    functions: Mapping[str, str]
    """By their logical ids."""
    key: str = ""
    """ARN of the KMS key in the parameter KmsKeyArn; empty: AWS owns or manages the key."""

    def arn(self, service: str, resource: str) -> str:
        """Return the ARN of something in the stack's Region."""
        return f"arn:{self.partition}:{service}:{self.region}:{self.account}:{resource}"


def policy_of(work: Work, names: Names) -> dict[str, Any]:
    """Return the policy for a kind of work."""
    table = names.arn("dynamodb", f"table/{names.table}")
    statements = [
        _allow(
            "FindTheStack",
            ["cloudformation:DescribeStackResource", "cloudformation:DescribeStacks"],
            names.arn("cloudformation", f"stack/{names.stack}/*"),
        ),
        {
            **_allow("FindTheCallerOfATask", ["dynamodb:Query", "dynamodb:Scan"], [table, f"{table}/index/*"]),
            "Condition": _KEYS_ALONE,
        },
        _allow(
            "FindTheCallerOfASignature",
            ["iam:GetRole", "iam:GetUser"],
            [f"arn:{names.partition}:iam::{names.account}:{kind}/*" for kind in ("role", "user")],
        ),
    ]
    if work is Work.READ:
        bucket = f"arn:{names.partition}:s3:::{names.bucket}"
        statements += [
            _allow("ReadWhatIsHeld", ["dynamodb:GetItem", "dynamodb:Query"], table),
            _allow("ListLargeResults", ["s3:ListBucket"], bucket),
            _allow("ReadLargeResults", ["s3:GetObject"], f"{bucket}/*"),
        ]
    if names.key:
        # DynamoDB and S3 use the key with the permissions of whoever reads.
        services = ("dynamodb", "s3") if work is Work.READ else ("dynamodb",)
        condition = {"StringLike": {"kms:ViaService": [f"{one}.{names.region}.*" for one in services]}}
        statements.append({**_allow("UseTheKey", ["kms:Decrypt"], names.key), "Condition": condition})
    if work in _FUNCTIONS:
        statements.append(_allow("Command", ["lambda:InvokeFunction"], _function(names, _FUNCTIONS[work])))
    if work in _DENIED:
        denied = _allow("FourEyes", ["lambda:InvokeFunction"], _function(names, _DENIED[work]))
        statements.append({**denied, "Effect": "Deny"})
    return {"Version": "2012-10-17", "Statement": statements}


def _function(names: Names, logical_id: str) -> str:
    return names.arn("lambda", f"function:{names.functions[logical_id]}")


def _allow(sid: str, actions: list[str], resource: str | list[str]) -> dict[str, Any]:
    return {"Sid": sid, "Effect": "Allow", "Action": actions, "Resource": resource}
