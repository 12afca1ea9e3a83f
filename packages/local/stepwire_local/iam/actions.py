"""The IAM actions and resources that each AWS call needs, from AWS's service authorization reference.

Pure. The rule: an operation that is not listed here raises an error that names it; no call is allowed by omission. The
keys are botocore's names: `<service>.<operation>`.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from email import message_from_bytes
from email.utils import parseaddr
from typing import Any

Params = Mapping[str, Any]  # of a call, as passed to botocore

ANY = "*"  # for actions without resource-level permissions


class UnknownOperation(Exception):
    """The local stack does not simulate an operation: it is not among those whose permissions are listed here."""

    def __init__(self, operation: str) -> None:
        super().__init__(f"{operation} is not simulated on this machine. A stub of the function or state can answer.")


@dataclass(frozen=True)
class Need:
    """An action that must be allowed on a resource."""

    action: str
    resource: str
    parent: str = ""
    """A resource on which the action may be allowed in its place: of an address that sends mail, its domain."""
    leading_keys: tuple[str, ...] = ()
    """Values of the partition key `pk` of the items that a call names; empty where it names none."""


@dataclass(frozen=True)
class Place:
    """The account and Region of resources that are given by name."""

    region: str
    account: str

    def arn(self, service: str, tail: str, name: str) -> str:
        """Return the ARN of a resource that is given by ARN or by name."""
        return name if name.startswith("arn:") else f"arn:aws:{service}:{self.region}:{self.account}:{tail}{name}"


def needs(operation: str, params: Params, place: Place) -> Sequence[Need]:
    """Return the permissions that a call needs.

    Raises:
        UnknownOperation: the operation is not listed.
    """
    if operation not in _OPERATIONS:
        raise UnknownOperation(operation)
    return tuple(_OPERATIONS[operation](params, place))


_Rule = Callable[[Params, Place], Iterable[Need]]


def _on(action: str, parameter: str, service: str = "", tail: str = "") -> _Rule:
    """Return a rule for one action on the resource that one parameter names."""
    return lambda params, place: (Need(action, place.arn(service, tail, params[parameter])),)


def _on_any(action: str) -> _Rule:
    return lambda params, place: (Need(action, ANY),)  # noqa: ARG005  # the signature of a rule


def _table(params: Params, place: Place) -> str:
    return place.arn("dynamodb", "table/", params["TableName"])


def _keys(items: Iterable[Params]) -> tuple[str, ...]:
    return tuple(item["pk"]["S"] for item in items if "S" in item.get("pk", {}))


def _keys_of(params: Params) -> tuple[str, ...]:
    """Return the partition key of the one item that a call, or a part of a transaction, names."""
    return _keys([params.get("Key") or params.get("Item") or {}])


_PARTITION = re.compile(r"\bpk = (:\w+)")
"""The partition that a query names."""


def _query(action: str) -> _Rule:
    def rule(params: Params, place: Place) -> Iterable[Need]:
        index = f"/index/{params['IndexName']}" if "IndexName" in params else ""
        found = _PARTITION.search(params.get("KeyConditionExpression", ""))
        values: Params = params.get("ExpressionAttributeValues", {})
        value: Params = values.get(found[1], {}) if found else {}
        return (Need(action, _table(params, place) + index, leading_keys=_keys([{"pk": value}])),)

    return rule


def _batch(action: str) -> _Rule:
    def rule(params: Params, place: Place) -> Iterable[Need]:
        for table, part in params["RequestItems"].items():
            keys = _keys(part["Keys"]) if "Keys" in part else ()
            yield Need(action, place.arn("dynamodb", "table/", table), leading_keys=keys)

    return rule


_PARTS = {
    "ConditionCheck": "dynamodb:ConditionCheckItem",
    "Delete": "dynamodb:DeleteItem",
    "Get": "dynamodb:GetItem",
    "Put": "dynamodb:PutItem",
    "Update": "dynamodb:UpdateItem",
}


def _transaction(params: Params, place: Place) -> Iterable[Need]:
    """Return the permissions of a transaction: those of its parts, because it has no action of its own."""
    for item in params["TransactItems"]:
        for kind, part in item.items():
            yield Need(_PARTS[kind], _table(part, place), leading_keys=_keys_of(part))


def _put_events(params: Params, place: Place) -> Iterable[Need]:
    buses = (entry.get("EventBusName", "default") for entry in params["Entries"])
    return (Need("events:PutEvents", place.arn("events", "event-bus/", bus)) for bus in buses)


def _object(action: str) -> _Rule:
    return lambda params, place: (Need(action, f"arn:aws:s3:::{params['Bucket']}/{params['Key']}"),)  # noqa: ARG005  # the same


def _bucket(action: str) -> _Rule:
    return lambda params, place: (Need(action, f"arn:aws:s3:::{params['Bucket']}"),)  # noqa: ARG005  # the same


def _copy(params: Params, place: Place) -> Iterable[Need]:
    """Return the permissions of a copy: to read the source, `bucket/key` or its parts, and to write the object."""
    source = params["CopySource"]
    named = f"{source['Bucket']}/{source['Key']}" if isinstance(source, Mapping) else str(source).lstrip("/")
    yield Need("s3:GetObject", f"arn:aws:s3:::{named.partition('?')[0]}")
    yield from _object("s3:PutObject")(params, place)


def _deleted(params: Params, place: Place) -> Iterable[Need]:
    for one in params["Delete"]["Objects"]:
        yield from _object("s3:DeleteObject")({"Bucket": params["Bucket"], "Key": one["Key"]}, place)


def _queue(action: str) -> _Rule:
    def rule(params: Params, place: Place) -> Iterable[Need]:
        return (Need(action, place.arn("sqs", "", params["QueueUrl"].rpartition("/")[2])),)

    return rule


def _publish(params: Params, place: Place) -> Iterable[Need]:  # noqa: ARG001  # the signature of a rule
    """Return the permission to publish: a text message to a phone has no resource."""
    return (Need("sns:Publish", params.get("TopicArn") or params.get("TargetArn") or ANY),)


def _mail(action: str) -> _Rule:
    """Return a rule for a mail: IAM asks about the identity that sends it, which is its address or the domain of it."""

    def rule(params: Params, place: Place) -> Iterable[Need]:
        address = parseaddr(params.get("Source") or params.get("FromEmailAddress") or _sender_of(params))[1]
        identity, domain = (place.arn("ses", "identity/", one) for one in (address, address.rpartition("@")[2]))
        return (Need(action, identity, domain),)

    return rule


def _sender_of(params: Params) -> str:
    """Return the sender that a raw mail names."""
    raw: Params = params.get("RawMessage") or params.get("Content", {}).get("Raw", {})
    data: bytes | str = raw.get("Data", b"")
    return str(message_from_bytes(data.encode() if isinstance(data, str) else data)["from"] or "")


def _subscribed(params: Params, place: Place) -> Iterable[Need]:  # noqa: ARG001  # the same
    """Return the permission to end a subscription: that of its topic."""
    return (Need("sns:Unsubscribe", params["SubscriptionArn"].rpartition(":")[0]),)


def _path(params: Params, place: Place) -> Iterable[Need]:
    return (Need("ssm:GetParametersByPath", place.arn("ssm", "parameter", params["Path"].rstrip("/"))),)


def _parameters(action: str) -> _Rule:
    """Return a rule for parameters by name; a name may begin with a slash, which their ARNs have once."""

    def rule(params: Params, place: Place) -> Iterable[Need]:
        names = params["Names"] if "Names" in params else [params["Name"]]
        return (Need(action, place.arn("ssm", "parameter/", name.lstrip("/"))) for name in names)

    return rule


def _of_item(operation: str) -> _Rule:
    def rule(params: Params, place: Place) -> Iterable[Need]:
        return (Need(f"dynamodb:{operation}", _table(params, place), leading_keys=_keys_of(params)),)

    return rule


_OPERATIONS: Mapping[str, _Rule] = {
    **{f"dynamodb.{name}": _of_item(name) for name in ("GetItem", "PutItem", "UpdateItem", "DeleteItem")},
    "dynamodb.BatchGetItem": _batch("dynamodb:BatchGetItem"),
    "dynamodb.BatchWriteItem": _batch("dynamodb:BatchWriteItem"),
    "dynamodb.DescribeTable": _on("dynamodb:DescribeTable", "TableName", "dynamodb", "table/"),
    "dynamodb.Query": _query("dynamodb:Query"),
    "dynamodb.Scan": _query("dynamodb:Scan"),
    "dynamodb.TransactGetItems": _transaction,
    "dynamodb.TransactWriteItems": _transaction,
    "events.PutEvents": _put_events,
    "lambda.Invoke": _on("lambda:InvokeFunction", "FunctionName", "lambda", "function:"),
    "s3.GetObject": _object("s3:GetObject"),
    "s3.HeadObject": _object("s3:GetObject"),
    "s3.PutObject": _object("s3:PutObject"),
    "s3.DeleteObject": _object("s3:DeleteObject"),
    "s3.DeleteObjects": _deleted,
    "s3.CopyObject": _copy,
    **{
        f"s3.{name}": _object("s3:PutObject")
        for name in ("CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload")
    },
    "s3.AbortMultipartUpload": _object("s3:AbortMultipartUpload"),
    "s3.HeadBucket": _bucket("s3:ListBucket"),
    "s3.ListObjects": _bucket("s3:ListBucket"),
    "s3.ListObjectsV2": _bucket("s3:ListBucket"),
    # By ARN: the name lacks the six random characters at the end of the ARN.
    "secretsmanager.GetSecretValue": _on("secretsmanager:GetSecretValue", "SecretId", "secretsmanager", "secret:"),
    "resourcegroupstaggingapi.GetResources": _on_any("tag:GetResources"),
    "ses.SendEmail": _mail("ses:SendEmail"),
    "ses.SendRawEmail": _mail("ses:SendRawEmail"),
    "sesv2.SendEmail": _mail("ses:SendEmail"),
    "sns.CreateTopic": _on("sns:CreateTopic", "Name", "sns"),
    "sns.GetTopicAttributes": _on("sns:GetTopicAttributes", "TopicArn"),
    "sns.ListSubscriptionsByTopic": _on("sns:ListSubscriptionsByTopic", "TopicArn"),
    "sns.ListTopics": _on_any("sns:ListTopics"),
    "sns.Publish": _publish,
    "sns.PublishBatch": _publish,
    "sns.Subscribe": _on("sns:Subscribe", "TopicArn"),
    "sns.Unsubscribe": _subscribed,
    "ssm.DescribeParameters": _on_any("ssm:DescribeParameters"),
    **{f"ssm.{name}": _parameters(f"ssm:{name}") for name in ("GetParameter", "GetParameters", "PutParameter")},
    "ssm.GetParametersByPath": _path,
    "sts.AssumeRole": _on("sts:AssumeRole", "RoleArn"),
    "sts.GetCallerIdentity": lambda _params, _place: (),  # everybody may
    "sqs.DeleteMessageBatch": _queue("sqs:DeleteMessage"),
    "sqs.GetQueueAttributes": _queue("sqs:GetQueueAttributes"),
    "sqs.GetQueueUrl": _on("sqs:GetQueueUrl", "QueueName", "sqs"),
    "sqs.SendMessage": _queue("sqs:SendMessage"),
    "sqs.SendMessageBatch": _queue("sqs:SendMessage"),
    "sqs.ChangeMessageVisibility": _queue("sqs:ChangeMessageVisibility"),
    "sqs.ReceiveMessage": _queue("sqs:ReceiveMessage"),
    "sqs.DeleteMessage": _queue("sqs:DeleteMessage"),
    "stepfunctions.DescribeExecution": _on("states:DescribeExecution", "executionArn"),
    "stepfunctions.DescribeMapRun": _on("states:DescribeMapRun", "mapRunArn"),
    "stepfunctions.DescribeStateMachine": _on("states:DescribeStateMachine", "stateMachineArn"),
    "stepfunctions.DescribeStateMachineAlias": _on("states:DescribeStateMachineAlias", "stateMachineAliasArn"),
    "stepfunctions.ListTagsForResource": _on("states:ListTagsForResource", "resourceArn"),
    "stepfunctions.GetExecutionHistory": _on("states:GetExecutionHistory", "executionArn"),
    "stepfunctions.ListExecutions": _on("states:ListExecutions", "stateMachineArn"),
    "stepfunctions.RedriveExecution": _on("states:RedriveExecution", "executionArn"),
    "stepfunctions.StartExecution": _on("states:StartExecution", "stateMachineArn"),
    "stepfunctions.StartSyncExecution": _on("states:StartSyncExecution", "stateMachineArn"),
    "stepfunctions.StopExecution": _on("states:StopExecution", "executionArn"),
    **{
        f"stepfunctions.{name}": _on_any(f"states:{name}")
        for name in ("SendTaskFailure", "SendTaskHeartbeat", "SendTaskSuccess")
    },
}

SERVED = frozenset(_OPERATIONS)
"""Every operation that is listed."""
