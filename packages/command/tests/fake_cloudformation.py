"""An account with CloudFormation and S3, as far as a deployment needs them. Clients have boto3's methods.

A call can be interrupted before it reaches AWS, or after AWS has done it, as by a lost connection or Ctrl-C.
"""

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Final

import yaml
from botocore.exceptions import ClientError

ACCOUNT: Final = "111122223333"
REGION: Final = "eu-central-1"
_BEGAN: Final = datetime(2026, 1, 1, tzinfo=UTC)
URL: Final = "https://abc.execute-api.eu-central-1.amazonaws.com/mcp"


def refusal(code: str, message: str = "AWS says no.") -> ClientError:
    """Return an error of boto3."""
    return ClientError({"Error": {"Code": code, "Message": message}}, "Operation")


@dataclass
class FakeStack:
    """A stack."""

    name: str
    stack_id: str
    status: str = "REVIEW_IN_PROGRESS"
    template: str = ""
    parameters: dict[str, str] = field(default_factory=dict[str, str])
    then: str = ""
    """The status after the next look at it; empty: it stays."""
    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    kept: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """Type and physical id of what outlives it."""
    is_endpoint: bool = True


@dataclass
class FakeAccount:
    """The account. `interrupt` gets the number of each call, from 1, and whether AWS has done it; it may raise."""

    interrupt: Callable[[int, bool], object] = lambda _number, _is_done: None
    stacks: list[FakeStack] = field(default_factory=list[FakeStack])
    buckets: dict[str, dict[str, bytes]] = field(default_factory=dict[str, dict[str, bytes]])
    without_checksum: set[str] = field(default_factory=set[str])
    """The keys of objects that were uploaded without a SHA-256."""
    others_buckets: frozenset[str] = frozenset()
    elsewhere: dict[str, str] = field(default_factory=dict[str, str])
    """The Regions of buckets that are in another one."""
    change_sets: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    changes: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """What the next change set would do; else every resource of the template is added."""
    failures: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Resources that the next run cannot make, with why."""
    deleted: list[str] = field(default_factory=list[str])
    """What was deleted beside stacks."""
    denied: frozenset[str] = frozenset()
    """The operations that these credentials may not call."""
    refused_change: str = ""
    """Why CloudFormation cannot make the next change set; empty: it can."""
    held_objects: bool = False
    """Whether a bucket's policy keeps its objects."""
    protects_tables: bool = True
    table_statuses: list[str] = field(default_factory=list[str])
    """What a table's next descriptions say; then it is active."""
    calls: list[str] = field(default_factory=list[str])
    _numbers: Any = field(default_factory=count)

    def client(self, _service: str) -> Any:
        """Return a client of any service."""
        return _Client(self)

    def stack(self, name: str) -> FakeStack | None:
        """Return the stack with a name that is not deleted, or any with an id."""
        found = [one for one in self.stacks if name == one.stack_id or (name == one.name and not _is_gone(one))]
        return found[-1] if found else None

    def standing(self, name: str = "stepwire", **more: Any) -> FakeStack:
        """Add a stack of an endpoint."""
        parameters = {"Authorizer": "iam", "Removed": "x", **more.pop("parameters", {})}
        one = FakeStack(
            name, f"arn:stack/{name}/{next(self._numbers)}", "CREATE_COMPLETE", "Outputs: {}", parameters, **more
        )
        self.stacks.append(one)
        return one

    def begin(self, stack: FakeStack, status: str, then: str) -> None:
        """Begin a change, which has ended after one more look."""
        stack.status, stack.then = status, then
        self._tell(stack, stack.name, status)
        for name, why in self.failures:
            self._tell(stack, name, "CREATE_FAILED", why)

    def _tell(self, stack: FakeStack, name: str, status: str, why: str = "") -> None:
        number = next(self._numbers)
        stack.events.insert(0, {
            "EventId": str(number), "Timestamp": _BEGAN + timedelta(seconds=number), "LogicalResourceId": name,
            "ResourceType": "AWS::Some::Thing", "ResourceStatus": status, "ResourceStatusReason": why,
        })  # fmt: skip

    # What follows are the operations, as boto3 names them.
    def get_caller_identity(self) -> Any:
        return {"Account": ACCOUNT, "Arn": f"arn:aws:iam::{ACCOUNT}:user/ada"}

    def head_bucket(self, Bucket: str, ExpectedBucketOwner: str) -> Any:  # noqa: N803 - boto3's names
        assert ExpectedBucketOwner == ACCOUNT
        if Bucket in self.others_buckets:
            raise refusal("403")
        if Bucket not in self.buckets:
            raise refusal("404")
        return {"BucketRegion": self.elsewhere.get(Bucket, REGION)}

    def create_bucket(self, Bucket: str, **more: Any) -> Any:  # noqa: N803
        assert more == {"CreateBucketConfiguration": {"LocationConstraint": REGION}}
        self.buckets[Bucket] = {}
        return {}

    def head_object(self, Bucket: str, Key: str, ExpectedBucketOwner: str, **more: str) -> Any:  # noqa: N803
        assert ExpectedBucketOwner == ACCOUNT
        if Key not in self.buckets[Bucket]:
            raise refusal("404")
        asks = more.get("ChecksumMode") == "ENABLED" and Key not in self.without_checksum
        return {"ChecksumSHA256": _checksum_of(self.buckets[Bucket][Key])} if asks else {}

    def put_object(self, Bucket: str, Key: str, Body: bytes, ExpectedBucketOwner: str, **more: str) -> Any:  # noqa: N803
        assert ExpectedBucketOwner == ACCOUNT
        if "ChecksumSHA256" not in more:
            self.without_checksum.add(Key)
        elif more["ChecksumSHA256"] != _checksum_of(Body):
            raise refusal("BadDigest")
        else:
            self.without_checksum.discard(Key)
        self.buckets[Bucket][Key] = Body
        return {}

    def describe_stacks(self, StackName: str) -> Any:  # noqa: N803
        stack = self.stack(StackName)
        if stack is None:
            raise refusal("ValidationError")
        if stack.then:
            stack.status, stack.then = stack.then, ""
        made: dict[str, Any] = yaml.safe_load(stack.template or "{}")
        outputs = {name: _text_of(body["Value"]) for name, body in made.get("Outputs", {}).items()}
        if stack.is_endpoint and not stack.status.startswith("REVIEW"):
            outputs["McpEndpoint"] = URL
        return {"Stacks": [{
            "StackName": stack.name, "StackStatus": stack.status, "StackId": stack.stack_id,
            "Outputs": [{"OutputKey": name, "OutputValue": value} for name, value in outputs.items()],
            "Parameters": [{"ParameterKey": name, "ParameterValue": value} for name, value in stack.parameters.items()],
        }]}  # fmt: skip

    def list_stacks(self, StackStatusFilter: list[str]) -> Any:  # noqa: N803
        gone = [one for one in self.stacks if one.status in StackStatusFilter]
        return {"StackSummaries": [
            {"StackName": one.name, "StackId": one.stack_id, "DeletionTime": _BEGAN + timedelta(days=number)}
            for number, one in enumerate(gone)
        ]}  # fmt: skip

    def list_stack_resources(self, StackName: str) -> Any:  # noqa: N803
        stack = self.stack(StackName)
        assert stack is not None
        return {"StackResourceSummaries": [
            {"LogicalResourceId": name, "ResourceType": kind, "PhysicalResourceId": held}
            for name, (kind, held) in stack.kept.items()
        ]}  # fmt: skip

    def get_template(self, StackName: str, TemplateStage: str) -> Any:  # noqa: N803
        stack = self.stack(StackName)
        assert stack is not None
        assert TemplateStage == "Original"
        return {"TemplateBody": stack.template}

    def create_change_set(self, **given: Any) -> Any:
        stack = self.stack(given["StackName"])
        if given["ChangeSetType"] == "CREATE" and any("UsePreviousValue" in one for one in given["Parameters"]):
            raise refusal("ValidationError")
        if stack is None:
            assert given["ChangeSetType"] == "CREATE"
            stack = FakeStack(given["StackName"], f"arn:stack/{given['StackName']}/{next(self._numbers)}")
            self.stacks.append(stack)
        bucket, _, key = given["TemplateURL"].removeprefix(f"https://s3.{REGION}.amazonaws.com/").partition("/")
        arn = f"arn:change-set/{next(self._numbers)}"
        self.change_sets[arn] = {**given, "template": self.buckets[bucket][key].decode(), "stack": stack}
        return {"Id": arn, "StackId": stack.stack_id}

    def describe_change_set(self, ChangeSetName: str) -> Any:  # noqa: N803
        if self.refused_change:
            return {"Status": "FAILED", "StatusReason": self.refused_change}
        resources = yaml.safe_load(self.change_sets[ChangeSetName]["template"])["Resources"]
        changes = self.changes or [
            {"Action": "Add", "LogicalResourceId": name, "ResourceType": body["Type"]}
            for name, body in resources.items()
        ]
        return {"Status": "CREATE_COMPLETE", "Changes": [{"ResourceChange": one} for one in changes]}

    def delete_change_set(self, ChangeSetName: str) -> Any:  # noqa: N803
        del self.change_sets[ChangeSetName]
        return {}

    def execute_change_set(self, ChangeSetName: str) -> Any:  # noqa: N803
        given = self.change_sets.pop(ChangeSetName)
        stack: FakeStack = given["stack"]
        is_new, is_bad = stack.status == "REVIEW_IN_PROGRESS", bool(self.failures)
        what = "CREATE" if is_new else "UPDATE"
        back = "ROLLBACK_COMPLETE" if is_new else "UPDATE_ROLLBACK_COMPLETE"
        if not is_bad:
            values = {one["ParameterKey"]: one for one in given["Parameters"]}
            before = dict(stack.parameters)
            stack.parameters = {
                name: before[name] if one.get("UsePreviousValue") else one["ParameterValue"]
                for name, one in values.items()
            }
            stack.template = given["template"]
            stack.kept = {
                name: (body["Type"], f"held-{name}")
                for name, body in yaml.safe_load(given["template"])["Resources"].items()
                if body.get("DeletionPolicy") == "Retain"
            }
        self.begin(stack, f"{what}_IN_PROGRESS", back if is_bad else f"{what}_COMPLETE")
        return {}

    def describe_stack_events(self, StackName: str) -> Any:  # noqa: N803
        stack = self.stack(StackName)
        assert stack is not None
        return {"StackEvents": list(stack.events)}

    def delete_stack(self, StackName: str) -> Any:  # noqa: N803
        stack = self.stack(StackName)
        if stack is not None:
            self.begin(stack, "DELETE_IN_PROGRESS", "DELETE_FAILED" if self.failures else "DELETE_COMPLETE")
        return {}

    def describe_table(self, TableName: str) -> Any:  # noqa: N803
        if TableName in self.deleted:
            raise refusal("ResourceNotFoundException")
        status = self.table_statuses.pop(0) if self.table_statuses else "ACTIVE"
        return {"Table": {"TableStatus": status, "DeletionProtectionEnabled": self.protects_tables}}

    def update_table(self, TableName: str, DeletionProtectionEnabled: bool) -> Any:  # noqa: N803
        assert self.protects_tables, f"{TableName}: a change that changes nothing"
        self.protects_tables = DeletionProtectionEnabled
        self.table_statuses = ["UPDATING", "UPDATING"]
        return {}

    def delete_table(self, TableName: str) -> Any:  # noqa: N803
        if self.table_statuses or self.protects_tables:
            raise refusal("ResourceInUseException")
        self.deleted.append(TableName)
        return {}

    def list_object_versions(self, Bucket: str) -> Any:  # noqa: N803
        if Bucket in self.deleted:
            raise refusal("NoSuchBucket")
        return {"Versions": [{"Key": "a", "VersionId": "1"}], "IsTruncated": False}

    def delete_objects(self, Bucket: str, Delete: Any) -> Any:  # noqa: N803
        assert Delete["Objects"] == [{"Key": "a", "VersionId": "1"}], Bucket
        held = {"Key": "a", "VersionId": "1", "Code": "AccessDenied", "Message": "Access Denied"}
        return {"Errors": [held]} if self.held_objects else {}

    def delete_bucket(self, Bucket: str) -> Any:  # noqa: N803
        self.deleted.append(Bucket)
        return {}


def _text_of(value: Any) -> str:
    """Return the value of an output, which may be a list of texts that is joined."""
    match value:
        case {"Fn::Join": [separator, parts]}:
            return separator.join(parts)
        case _:
            return str(value)


def _checksum_of(content: bytes) -> str:
    return base64.b64encode(hashlib.sha256(content).digest()).decode()


def _is_gone(stack: FakeStack) -> bool:
    return stack.status == "DELETE_COMPLETE"


@dataclass
class _Client:
    account: FakeAccount

    def __getattr__(self, name: str) -> Any:
        def called(**given: Any) -> Any:
            account = self.account
            account.calls.append(name)
            number = len(account.calls)
            account.interrupt(number, False)
            if name in account.denied:
                raise refusal("AccessDenied")
            try:
                return getattr(account, name)(**given)
            finally:
                account.interrupt(number, True)

        return called
