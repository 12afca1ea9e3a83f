"""The notifications of an S3 bucket: what is told to functions, queues, topics and EventBridge.

The rule: a notification that nothing here can get, or of an event that S3 does not have, is noted; the rest is served.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from moto.s3.notifications import S3NotificationEvent

from stepwire_local.cloudformation.resources.kinds import Resource, World, fault_of_function


@dataclass(frozen=True)
class _Target:
    """Whom a list of notifications names, in the template and in the call."""

    key: str
    called: str
    named: str
    service: str


_LISTS: Final[Mapping[str, _Target]] = {
    "LambdaConfigurations": _Target("Function", "LambdaFunctionConfigurations", "LambdaFunctionArn", "lambda"),
    "QueueConfigurations": _Target("Queue", "QueueConfigurations", "QueueArn", "sqs"),
    "TopicConfigurations": _Target("Topic", "TopicConfigurations", "TopicArn", "sns"),
}


def notify(resource: Resource, bucket: str, world: World) -> None:
    """Configure the notifications of a bucket as its template has them."""
    configured: Mapping[str, Any] = resource.properties.get("NotificationConfiguration") or {}
    made: dict[str, Any] = {
        target.called: [
            _called(one, target) for one in configured.get(name, ()) if _can_get(resource, one, target, world)
        ]
        for name, target in _LISTS.items()
    }
    bridge: Mapping[str, Any] | None = configured.get("EventBridgeConfiguration")
    if bridge is not None and str(bridge.get("EventBridgeEnabled", True)).lower() == "true":
        made["EventBridgeConfiguration"] = {}
    world.client("s3").put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration=made)


def _called(one: Mapping[str, Any], target: _Target) -> dict[str, Any]:
    rules: Sequence[Mapping[str, Any]] = one.get("Filter", {}).get("S3Key", {}).get("Rules", ())
    listed = [{"Name": str(rule["Name"]).lower(), "Value": str(rule["Value"])} for rule in rules]
    chosen = {"Filter": {"Key": {"FilterRules": listed}}} if listed else {}
    return {target.named: one[target.key], "Events": [one["Event"]], **chosen}


def _can_get(resource: Resource, one: Mapping[str, Any], target: _Target, world: World) -> bool:
    fault = _fault_in(one, target, world)
    if fault:
        world.notes.append(f"{resource.logical_id}: {one[target.key]} gets no events of the bucket: {fault}")
    return not fault


def _fault_in(one: Mapping[str, Any], target: _Target, world: World) -> str:
    """Return why a notification cannot be served: 1. its event, 2. its filter, 3. its target; empty if it can."""
    if not S3NotificationEvent.is_event_valid(str(one["Event"])):
        return f"{one['Event']} is no event of S3"
    rules: Sequence[Mapping[str, Any]] = one.get("Filter", {}).get("S3Key", {}).get("Rules", ())
    if any(str(rule["Name"]).lower() not in ("prefix", "suffix") or not rule["Value"] for rule in rules):
        return "a rule of its filter is neither a prefix nor a suffix"
    parts = str(one[target.key]).split(":")
    if parts[2:4] != [target.service, world.region]:
        return f"it is not served here, or in another Region than {world.region}"
    return "" if target.service != "lambda" else fault_of_function(str(one[target.key]))
