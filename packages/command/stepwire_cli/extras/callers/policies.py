"""What an operator needs in IAM to do something about one caller: a policy for each kind of work.

Pure. The rules: blocking and erasing are the work of two people. Each of the two policies denies what the other
permits, so whoever is given both can do neither. Only the policies to read and to erase let anybody see more of a task
than its keys: who erases must know what has ended, and what remains elsewhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from stepwire.background.commands import TASKS
from stepwire.extras.callers.commands import BLOCKS, ERASURES


class Work(StrEnum):
    """What somebody may do about a caller, beside finding it."""

    READ = "read"
    """`show` and `export`."""
    BLOCK = "block"
    """`block` and `unblock`."""
    CANCEL = "cancel"
    """`cancel-all`; also redrives and the commands about lines, which need the same right."""
    ERASE = "erase"


_RIGHTS: Mapping[Work, str] = {Work.BLOCK: BLOCKS, Work.CANCEL: TASKS, Work.ERASE: ERASURES}
"""The alias of function operator that the work needs."""
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
    operator: str
    """Of function operator."""
    key: str = ""
    """ARN of the KMS key in the parameter KmsKeyArn; empty: AWS owns or manages the key."""

    def arn(self, service: str, resource: str) -> str:
        """Return the ARN of something in the stack's Region."""
        return f"arn:{self.partition}:{service}:{self.region}:{self.account}:{resource}"


def policy_of(work: Work, names: Names) -> dict[str, Any]:
    """Return the policy for a kind of work."""
    table, bucket = names.arn("dynamodb", f"table/{names.table}"), f"arn:{names.partition}:s3:::{names.bucket}"
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
        statements += [
            _allow("ReadWhatIsHeld", ["dynamodb:GetItem", "dynamodb:Query"], table),
            _allow("ListLargeResults", ["s3:ListBucket"], bucket),
            _allow("ReadLargeResults", ["s3:GetObject"], f"{bucket}/*"),
        ]
    if work is Work.ERASE:
        statements += _erase(table, bucket)
    if names.key:
        # DynamoDB and S3 use the key with the permissions of whoever reads.
        services = ("dynamodb", "s3") if work is Work.READ else ("dynamodb",)
        condition = {"StringLike": {"kms:ViaService": [f"{one}.{names.region}.*" for one in services]}}
        statements.append({**_allow("UseTheKey", ["kms:Decrypt"], names.key), "Condition": condition})
    if work in _RIGHTS:
        statements.append(_allow("Command", ["lambda:InvokeFunction"], _alias(names, _RIGHTS[work])))
    if work is Work.BLOCK:
        statements.append(_deny("FourEyes", ["dynamodb:DeleteItem", "s3:DeleteObject"], [table, f"{bucket}/*"]))
    if work is Work.ERASE:
        statements.append(_deny("FourEyes", ["lambda:InvokeFunction"], _alias(names, BLOCKS)))
    return {"Version": "2012-10-17", "Statement": statements}


def _erase(table: str, bucket: str) -> list[dict[str, Any]]:
    """Return what permits to erase: items below a principal and the references to it, and no block."""
    return [
        _allow("FindWhatIsHeld", ["dynamodb:Query"], table),
        _allow("FindLargeResults", ["s3:ListBucket"], bucket),
        {
            **_allow("EraseWhatIsHeld", ["dynamodb:DeleteItem"], table),
            "Condition": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["?" * 32, "subscribers#*", "line#*"]}},
        },
        _allow("EraseLargeResults", ["s3:DeleteObject"], f"{bucket}/*"),
    ]


def _alias(names: Names, right: str) -> str:
    return names.arn("lambda", f"function:{names.operator}:{right}")


def _allow(sid: str, actions: list[str], resource: str | list[str]) -> dict[str, Any]:
    return {"Sid": sid, "Effect": "Allow", "Action": actions, "Resource": resource}


def _deny(sid: str, actions: list[str], resource: str | list[str]) -> dict[str, Any]:
    return {**_allow(sid, actions, resource), "Effect": "Deny"}
