"""Messaging: SQS queues, EventBridge rules."""

import json
from typing import Any

from stepwire_local.account.deliveries import can_get_events
from stepwire_local.cloudformation.intrinsics import text_of
from stepwire_local.cloudformation.resources.kinds import (
    NOT_ENFORCED,
    Change,
    Created,
    Kind,
    Resource,
    World,
    named,
    picked,
)
from stepwire_local.cloudformation.resources.schedules import expression_of, schedule_rule
from stepwire_local.stubs.owners import Owned
from stepwire_local.stubs.owners import register as own_stubs

_QUEUE_ATTRIBUTES = (
    "ContentBasedDeduplication",
    "DelaySeconds",
    "FifoQueue",
    "MaximumMessageSize",
    "MessageRetentionPeriod",
    "ReceiveMessageWaitTimeSeconds",
    "VisibilityTimeout",
)
_TARGET = (
    "Arn",
    "DeadLetterConfig",
    "Id",
    "Input",
    "InputPath",
    "InputTransformer",
    "RetryPolicy",
    "RoleArn",
    "SqsParameters",
)
_TARGETS_SERVED = ("lambda", "sqs", "states", "sns", "logs", "events")


def _queue(resource: Resource, world: World) -> Created:
    properties = resource.properties
    name: str = properties.get("QueueName", world.name(resource))
    attributes = {key: text_of(value) for key, value in picked(properties, _QUEUE_ATTRIBUTES).items()}
    if redrive := properties.get("RedrivePolicy"):
        attributes["RedrivePolicy"] = json.dumps(redrive)
    url: str = world.client("sqs").create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    own_stubs(world.arn("sqs", name), Owned(world.stubs, (resource.logical_id, name)))
    return Created(url, {"Arn": world.arn("sqs", name), "QueueName": name, "QueueUrl": url})


def _rule(resource: Resource, world: World) -> Created:
    properties = resource.properties
    name: str = properties.get("Name", world.name(resource))
    events = world.client("events")
    settings = picked(properties, ("State", "EventBusName", "ScheduleExpression"))
    if "EventPattern" in properties:
        settings["EventPattern"] = json.dumps(properties["EventPattern"])
    if "ScheduleExpression" in properties:
        expression_of(resource)  # its words say more than moto's
    arn: str = events.put_rule(Name=name, **settings)["RuleArn"]
    own_stubs(arn, Owned(world.stubs, (resource.logical_id, name)))
    targets: list[dict[str, Any]] = properties.get("Targets", [])
    _note_targets(resource, world, targets)
    served = [target for target in targets if _service_of(target) in _TARGETS_SERVED]
    if served and "EventPattern" in properties:  # to moto, a rule that has none is one for every event
        events.put_targets(Rule=name, Targets=served, **picked(properties, ("EventBusName",)))
    if "ScheduleExpression" in properties:
        schedule_rule(resource, arn, [one for one in served if can_get_events(one["Arn"])], world)
    return Created(name, {"Arn": arn})


def _changed_rule(change: Change, world: World) -> Created:
    _remove_rule(change.before, change.created, world)
    return _rule(change.after, world)


def _remove_rule(resource: Resource, created: Created, world: World) -> None:
    world.schedules.pop(resource.logical_id, None)
    events, bus = world.client("events"), picked(resource.properties, ("EventBusName",))
    there = events.list_targets_by_rule(Rule=created.reference, **bus)["Targets"]
    if there:
        events.remove_targets(Rule=created.reference, Ids=[one["Id"] for one in there], **bus)
    events.delete_rule(Name=created.reference, **bus)


def _note_targets(resource: Resource, world: World, targets: list[dict[str, Any]]) -> None:
    for target in targets:
        service = _service_of(target)
        if service not in _TARGETS_SERVED:
            named = f"of the service {service}" if service else "is not served and so"
            world.notes.append(f"{resource.logical_id}: target {target['Id']} {named} gets no events")
        elif ignored := [name for name in target if name not in _TARGET]:
            world.notes.append(f"{resource.logical_id}: target {target['Id']} ignores {', '.join(ignored)}")


def _service_of(target: dict[str, Any]) -> str:
    return f"{target['Arn']}::".split(":")[2]  # what is not served has no ARN


def _event_bus(resource: Resource, world: World) -> Created:
    name: str = resource.properties["Name"]
    arn: str = world.client("events").create_event_bus(Name=name)["EventBusArn"]
    return Created(name, {"Arn": arn, "Name": name})


KINDS = {
    "AWS::SQS::Queue": Kind(
        _queue,
        served=("QueueName", "RedrivePolicy", *_QUEUE_ATTRIBUTES),
        harmless=("SqsManagedSseEnabled", "KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds"),
    ),
    "AWS::SQS::QueuePolicy": Kind(named, harmless=("Queues", "PolicyDocument"), note=NOT_ENFORCED),
    "AWS::Events::Rule": Kind(
        _rule,
        served=("Name", "State", "EventBusName", "EventPattern", "ScheduleExpression", "Targets"),
        note="rules: a failing function is retried after tenths of a second, not after minutes",
        update=_changed_rule,
        remove=_remove_rule,
        can_be_spared=True,
    ),
    "AWS::Events::EventBus": Kind(_event_bus, served=("Name",)),
}
