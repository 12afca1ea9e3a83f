"""Patches of S3: what happens to an object reaches functions, queues, topics and rules."""

import json
import logging
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from moto.events.models import events_backends
from moto.s3 import notifications
from moto.s3.models import S3Backend

from stepwire_local.account.bucket_events import Happened, on_the_bus, record
from stepwire_local.account.deliveries import Cause, Target, deliver

logger = logging.getLogger(__name__)

_Replace = Callable[[object, str, object], None]
_MARKED: Final = notifications.S3NotificationEvent.OBJECT_REMOVED_DELETE_MARKER_CREATED_EVENT

_PUT: Final = notifications.S3NotificationEvent.OBJECT_CREATED_PUT_EVENT
_NOTHING: Final = dict[str, str]()
_SUBJECT: Final = {"Subject": "Amazon S3 Notification"}


def buckets_reach_their_targets(replace: _Replace) -> None:
    """Patch: Deliver notifications to functions, queues and topics, and events to the rules of the default bus.

    Defect: A function is never invoked, for want of Docker. Keys have `%2F`, records lack half their fields, and
    events spell the etag wrongly and reach every bus. A multipart upload is two events. Whatever goes wrong is silent.

    Ours: the functions run in this process, which is a choice of this stack.
    """
    replace(notifications, "send_event", _send_event)


def delete_markers_are_events(replace: _Replace) -> None:
    """Patch: Tell of a delete marker.

    Defect: Deleting an object of a versioned bucket is no event.
    """
    original: Any = vars(S3Backend)["_set_delete_marker"]

    def set_delete_marker(self: Any, bucket_name: str, key_name: str) -> Any:
        marker = original(self, bucket_name, key_name)
        _send_event(self.account_id, _MARKED, self.get_bucket(bucket_name), marker)
        return marker

    replace(S3Backend, "_set_delete_marker", set_delete_marker)


def _send_event(account: str, event: Any, bucket: Any, key: Any) -> None:
    configured = bucket.notification_configuration
    is_part_of_another = event is _PUT and key.multipart is not None
    if configured is None or is_part_of_another:
        return
    happened = _happened(account, event, bucket, key)
    cause = Cause("bucket", happened.arn, f"{happened.name} {happened.key}")
    told = [(one, _NOTHING) for one in (*configured.cloud_function, *configured.queue)]
    for one, settings in (*told, *((one, _SUBJECT) for one in configured.topic)):
        if one.matches(event, happened.key):
            deliver(Target(one.arn, settings=settings), json.dumps(record(happened, one.id)), cause)
    if configured.event_bridge is not None:
        _send_to_bus(account, on_the_bus(happened, _detail_type(event)))


def _happened(account: str, event: Any, bucket: Any, key: Any) -> Happened:
    is_there = ":ObjectRemoved:" not in event.value
    return Happened(
        name=event.value.removeprefix("s3:"),
        bucket=bucket.name,
        region=bucket.region_name,
        account=account,
        key=key.name,
        at=datetime.now(UTC),
        request=str(uuid.uuid4()),
        size=key.size if is_there else None,
        etag=key.etag.replace('"', "") if is_there else "",
        version=str(key.version_id) if bucket.is_versioned else "",
    )


def _send_to_bus(account: str, event: dict[str, Any]) -> None:
    buses: Any = events_backends[account][event["region"]].event_buses
    for rule in list(buses["default"].rules.values()):
        rule.send_to_targets(event)


def _detail_type(event: Any) -> str:
    return notifications._detail_type(event)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the one list of them


PATCHES = (buckets_reach_their_targets, delete_markers_are_events)
