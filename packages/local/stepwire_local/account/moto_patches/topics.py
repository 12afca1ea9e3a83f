"""Patch of SNS: topics reach functions, queues and URLs on this machine."""

import json
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Final
from urllib.parse import urlsplit

from moto.sns.models import Subscription
from moto.sqs.models import sqs_backends

from stepwire_local.account.deliveries import Cause, Target, deliver, give_up
from stepwire_local.activity import Activity, not_delivered, tell
from stepwire_local.gateway.loopback import is_loopback
from stepwire_local.lambdas.asynchronous import RETRY_DELAYS, run_later
from stepwire_local.stubs.owners import name_of

_Replace = Callable[[object, str, object], None]
_PATIENCE: Final = 15.0  # seconds; SNS's
_OK: Final = range(200, 300)


@dataclass(frozen=True)
class _Published:
    """A message as one subscription gets it."""

    id: str
    text: str
    subject: str | None
    attributes: Mapping[str, Any]
    group: str | None
    deduplication: str | None


def topics_reach_their_subscribers(replace: _Replace) -> None:
    """Patch: Deliver to functions, queues, and URLs on this machine, with the message's attributes.

    Defect: A subscription of a function needs Docker. One of a URL lets the publisher wait, and posts to any address.
    Each makes a key of RSA first. A queue that is gone fails the publisher.

    Ours: the functions run in this process, and only URLs on this machine are called, which are choices of this stack.
    """

    def publish(self: Any, message: str, message_id: str, **more: Any) -> None:
        matcher, attributes = self._filter_policy_matcher, dict[str, Any](more["message_attributes"] or {})
        if matcher is not None and not matcher.matches(attributes, message):
            return
        if more["message_structure"] == "json":
            message = self._parse_message_structure(message, self.protocol)
        made = _Published(message_id, message, more["subject"], attributes, more["group_id"], more["deduplication_id"])
        _PROTOCOLS.get(self.protocol, _nobody)(self, made)

    replace(Subscription, "publish", publish)


def is_here(url: str) -> bool:
    """Return whether a subscribed URL is one of this machine, to which messages are delivered."""
    parts = urlsplit(url)
    return parts.scheme in ("http", "https") and is_loopback(parts.netloc)


def _invoke(subscription: Any, published: _Published) -> None:
    body = _body(subscription, published)
    spelled = {name.replace("URL", "Url"): value for name, value in body.items()}
    sns: dict[str, Any] = {"Subject": None, "MessageAttributes": {}, **spelled}
    record: dict[str, Any] = {
        "EventSource": "aws:sns",
        "EventVersion": "1.0",
        "EventSubscriptionArn": subscription.arn,
        "Sns": sns,
    }
    deliver(_target(subscription), json.dumps({"Records": [record]}), _cause(subscription, published))


def _send(subscription: Any, published: _Published) -> None:
    arn: str = subscription.endpoint
    target, cause = _target(subscription), _cause(subscription, published)
    tell(Activity("topic", cause.name, name_of(arn), cause.about))
    name = arn.split(":")[5]
    is_raw = str(subscription.attributes.get("RawMessageDelivery")).lower() == "true"
    text = published.text if is_raw else json.dumps(_body(subscription, published))
    backend: Any = sqs_backends[subscription.account_id][target.region]
    if name not in backend.queues:
        give_up(target, text, cause, "it does not exist", "RESOURCE_NOT_FOUND")
        return
    backend.send_message(
        name,
        text,
        message_attributes={key: _raw(value) for key, value in published.attributes.items()} if is_raw else None,
        deduplication_id=published.deduplication,
        group_id=published.group,
        validate_group_id=False,
    )


def _post(subscription: Any, published: _Published) -> None:
    cause, url = _cause(subscription, published), subscription.endpoint
    if not is_here(url):
        _tell_text(subscription, published, "only URLs on this machine get messages")
        return
    tell(Activity("topic", cause.name, url, cause.about))
    run_later(lambda: _post_repeatedly(subscription, published))


def _nobody(subscription: Any, published: _Published) -> None:
    _tell_text(subscription, published, f"{subscription.protocol} is not served")


def _tell_text(subscription: Any, published: _Published, why: str) -> None:
    about = not_delivered(why, published.subject, published.text)
    tell(Activity("topic", _cause(subscription, published).name, subscription.endpoint, about))


_PROTOCOLS: Final[Mapping[str, Callable[[Any, _Published], None]]] = {
    "http": _post,
    "https": _post,
    "lambda": _invoke,
    "sqs": _send,
}


def _post_repeatedly(subscription: Any, published: _Published) -> None:
    is_raw = str(subscription.attributes.get("RawMessageDelivery")).lower() == "true"
    text = published.text if is_raw else json.dumps(_body(subscription, published))
    headers = {
        "content-type": "text/plain; charset=UTF-8",
        "user-agent": "Amazon Simple Notification Service Agent",
        "x-amz-sns-message-id": published.id,
        "x-amz-sns-message-type": "Notification",
        "x-amz-sns-subscription-arn": subscription.arn,
        "x-amz-sns-topic-arn": subscription.topic.arn,
        **({"x-amz-sns-rawdelivery": "true"} if is_raw else {}),
    }
    why = ""
    for delay in (*RETRY_DELAYS, 0):
        why = _fault_of_post(subscription.endpoint, text.encode(), headers)
        if not why:
            return
        time.sleep(delay)
    give_up(_target(subscription), text, _cause(subscription, published), why, "HTTP")


def _fault_of_post(url: str, body: bytes, headers: Mapping[str, str]) -> str:
    """Post a message; return why it did not arrive, or nothing."""
    parts = urlsplit(url)
    connection = _connection(parts.scheme, parts.hostname or "", parts.port)
    try:
        connection.request("POST", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), body, headers)
        status = connection.getresponse().status
    except (OSError, HTTPException) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        connection.close()
    return "" if status in _OK else f"it answers {status}"


def _connection(scheme: str, host: str, port: int | None) -> HTTPConnection:
    if scheme == "http":
        return HTTPConnection(host, port, timeout=_PATIENCE)
    own = ssl.create_default_context()  # nobody signs the certificate of a server on one's own machine
    own.check_hostname, own.verify_mode = False, ssl.CERT_NONE
    return HTTPSConnection(host, port, timeout=_PATIENCE, context=own)


def _body(subscription: Any, published: _Published) -> dict[str, Any]:
    """Return a message as SNS writes it; its signature is none."""
    topic: str = subscription.topic.arn
    host = f"https://sns.{topic.split(':')[3]}.amazonaws.com"
    return {
        "Type": "Notification",
        "MessageId": published.id,
        "TopicArn": topic,
        **({"Subject": published.subject} if published.subject else {}),
        "Message": published.text,
        "Timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z",
        "SignatureVersion": "1",
        "Signature": "not-signed-locally",
        "SigningCertURL": f"{host}/SimpleNotificationService-local.pem",
        "UnsubscribeURL": f"{host}/?Action=Unsubscribe&SubscriptionArn={subscription.arn}",
        **({"MessageAttributes": dict(published.attributes)} if published.attributes else {}),
    }


def _raw(attribute: Mapping[str, Any]) -> dict[str, Any]:
    """Return an attribute of a message as SQS has it."""
    kind = "BinaryValue" if attribute["Type"].startswith("Binary") else "StringValue"
    return {"DataType": attribute["Type"], kind: str(attribute["Value"])}


def _target(subscription: Any) -> Target:
    policy = subscription.attributes.get("RedrivePolicy")
    return Target(subscription.endpoint, dead_letters=json.loads(policy).get("deadLetterTargetArn") if policy else None)


def _cause(subscription: Any, published: _Published) -> Cause:
    return Cause("topic", subscription.topic.arn, published.subject or "")


PATCHES = (topics_reach_their_subscribers,)
