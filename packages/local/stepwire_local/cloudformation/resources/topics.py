"""SNS: topics and their subscriptions.

The rule: a subscription whose messages nothing here can get is created, and a note says so.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from stepwire_local.account.moto_patches.topics import is_here
from stepwire_local.cloudformation.intrinsics import text_of
from stepwire_local.cloudformation.resources.kinds import (
    NOT_ENFORCED,
    Change,
    Created,
    Kind,
    Resource,
    World,
    fault_of_function,
    named,
    picked,
)
from stepwire_local.errors import TemplateError
from stepwire_local.stubs.owners import Owned
from stepwire_local.stubs.owners import register as own_stubs

_TOPIC: Final = ("ContentBasedDeduplication", "DisplayName", "FifoTopic")
_TEXTS: Final = ("FilterPolicyScope", "RawMessageDelivery")
_DOCUMENTS: Final = ("FilterPolicy", "RedrivePolicy")


def _topic(resource: Resource, world: World) -> Created:
    properties = resource.properties
    name = _name(resource, world)
    attributes = {key: text_of(value) for key, value in picked(properties, _TOPIC).items()}
    arn: str = world.client("sns").create_topic(Name=name, Attributes=attributes)["TopicArn"]
    own_stubs(arn, Owned(world.stubs, (resource.logical_id, name)))
    for subscription in properties.get("Subscription", ()):
        _subscribe(resource, {**subscription, "TopicArn": arn}, world)
    return Created(arn, {"TopicArn": arn, "TopicName": name})


def _name(resource: Resource, world: World) -> str:
    is_fifo = str(resource.properties.get("FifoTopic", False)).lower() == "true"
    return resource.properties.get("TopicName", f"{world.name(resource)}{'.fifo' if is_fifo else ''}")


def _changed_topic(change: Change, world: World) -> Created:
    client, arn = world.client("sns"), change.created.reference
    if _name(change.before, world) != _name(change.after, world):
        raise TemplateError(f"{change.after.logical_id}: its name changes by a restart only.")
    before, after = (one.properties.get("Subscription", []) for one in (change.before, change.after))
    for subscription in before if before != after else ():
        _unsubscribe(client, arn, subscription)
    for subscription in after if before != after else ():
        _subscribe(change.after, {**subscription, "TopicArn": arn}, world)
    return change.created


def _removed_topic(_resource: Resource, created: Created, world: World) -> None:
    world.client("sns").delete_topic(TopicArn=created.reference)


def _unsubscribe(client: Any, topic: str, subscription: Mapping[str, Any]) -> None:
    for one in client.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]:
        if (one["Protocol"], one["Endpoint"]) == (subscription["Protocol"], subscription["Endpoint"]):
            client.unsubscribe(SubscriptionArn=one["SubscriptionArn"])


def _subscription(resource: Resource, world: World) -> Created:
    return Created(_subscribe(resource, resource.properties, world))


def _subscribe(resource: Resource, properties: Mapping[str, Any], world: World) -> str:
    protocol, endpoint = str(properties["Protocol"]), str(properties.get("Endpoint", ""))
    attributes = {
        **{name: text_of(properties[name]) for name in _TEXTS if name in properties},
        **{name: _document(properties[name]) for name in _DOCUMENTS if name in properties},
    }
    made = world.client("sns").subscribe(
        TopicArn=properties["TopicArn"],
        Protocol=protocol,
        Endpoint=endpoint,
        Attributes=attributes,
        ReturnSubscriptionArn=True,
    )
    if fault := _FAULTS.get(protocol, _not_served)(endpoint):
        world.notes.append(f"{resource.logical_id}: {protocol} {endpoint} gets no messages: {fault}")
    return made["SubscriptionArn"]


def _document(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _changed_subscription(change: Change, world: World) -> Created:
    world.client("sns").unsubscribe(SubscriptionArn=change.created.reference)
    return _subscription(change.after, world)


def _removed_subscription(_resource: Resource, created: Created, world: World) -> None:
    world.client("sns").unsubscribe(SubscriptionArn=created.reference)


def _not_served(_endpoint: str) -> str:
    return "only functions, queues and URLs on this machine do"


def _fault_of_url(url: str) -> str:
    return "" if is_here(url) else "only URLs on this machine do"


_FAULTS: Final[Mapping[str, Callable[[str], str]]] = {
    "http": _fault_of_url,
    "https": _fault_of_url,
    "lambda": fault_of_function,
    "sqs": lambda _: "",
}
"""Why an endpoint gets no messages here, or nothing, by the protocol of its subscription."""

_NOTE = "topics: subscriptions need no confirmation, messages have no signature, failed posts are repeated after tenths"

KINDS = {
    "AWS::SNS::Topic": Kind(
        _topic,
        served=("TopicName", "Subscription", *_TOPIC),
        harmless=("KmsMasterKeyId", "TracingConfig", "SignatureVersion", "DeliveryStatusLogging"),
        note=f"{_NOTE} of a second",
        update=_changed_topic,
        remove=_removed_topic,
        can_be_spared=True,
    ),
    "AWS::SNS::Subscription": Kind(
        _subscription,
        served=("TopicArn", "Protocol", "Endpoint", *_TEXTS, *_DOCUMENTS),
        harmless=("DeliveryPolicy", "Region", "SubscriptionRoleArn"),
        update=_changed_subscription,
        remove=_removed_subscription,
        can_be_spared=True,
    ),
    "AWS::SNS::TopicPolicy": Kind(named, harmless=("Topics", "PolicyDocument"), note=NOT_ENFORCED),
    "AWS::SNS::TopicInlinePolicy": Kind(named, harmless=("TopicArn", "PolicyDocument"), note=NOT_ENFORCED),
}
