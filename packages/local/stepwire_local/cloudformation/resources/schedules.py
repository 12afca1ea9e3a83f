"""Schedules: rules of EventBridge that have one, and those of EventBridge Scheduler.

The rule: a schedule that can never fire, or whose target is not served, is noted; the rest is served.
"""

import json
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from stepwire_local.account.deliveries import Cause, can_get_events, deliver, deliver_to_target_of_rule, target_of
from stepwire_local.cloudformation.resources.kinds import Change, Created, Kind, Resource, World, named
from stepwire_local.errors import TemplateError
from stepwire_local.streams.schedule_expressions import Expression, NotASchedule, read
from stepwire_local.streams.schedules import Schedule
from stepwire_local.stubs.owners import Owned
from stepwire_local.stubs.owners import register as own_stubs

_CONTEXT: Final = re.compile(r"<aws\.scheduler\.([a-z-]+)>")


def schedule_rule(resource: Resource, arn: str, targets: Sequence[Mapping[str, Any]], world: World) -> None:
    """Let a rule fire by its schedule."""

    def fire(at: datetime) -> None:
        event = _event("aws.events", arn, at, {})
        for target in targets:
            deliver_to_target_of_rule(target, event, Cause("schedule", arn, str(properties["ScheduleExpression"])))

    properties = resource.properties
    _add(resource, expression_of(resource), fire, world)


def _schedule(resource: Resource, world: World) -> Created:
    properties = resource.properties
    name: str = properties.get("Name", world.name(resource))
    arn = world.arn("scheduler", f"schedule/{properties.get('GroupName', 'default')}/{name}")
    own_stubs(arn, Owned(world.stubs, (resource.logical_id, name)))
    described: Mapping[str, Any] = properties["Target"]
    text = str(properties["ScheduleExpression"])
    if not can_get_events(described["Arn"]):
        raise TemplateError(f"{resource.logical_id}: its target {described['Arn']} cannot be reached here.")

    def fire(at: datetime) -> None:
        target = target_of(described, described["RoleArn"])
        deliver(target, _input(described, arn, at), Cause("schedule", arn, text))

    _add(resource, expression_of(resource, _zone(resource)), fire, world)
    return Created(name, {"Arn": arn})


def expression_of(resource: Resource, zone: tzinfo = UTC) -> Expression:
    """Return the expression of a schedule.

    Raises:
        TemplateError: AWS would refuse it.
    """
    try:
        return read(str(resource.properties["ScheduleExpression"]), zone)
    except NotASchedule as error:
        raise TemplateError(f"{resource.logical_id}: its schedule never fires: {error}.") from error


def _add(resource: Resource, expression: Expression, fire: Callable[[datetime], None], world: World) -> None:
    properties, now = resource.properties, datetime.now(UTC)
    begin, end = (_moment(properties.get(name)) for name in ("StartDate", "EndDate"))
    is_enabled = properties.get("State", "ENABLED") == "ENABLED"
    text = str(properties["ScheduleExpression"])
    made = Schedule(resource.logical_id, text, expression, max(now, begin or now), fire, end, is_enabled)
    if is_enabled and made.next_after(now) is None:
        world.notes.append(f"{resource.logical_id}: its schedule never fires: {text} names no time to come")
    world.schedules[resource.logical_id] = made


def _zone(resource: Resource) -> tzinfo:
    name = str(resource.properties.get("ScheduleExpressionTimezone", "UTC"))
    if name == "UTC":  # for which no machine needs a database of zones
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise TemplateError(f"{resource.logical_id}: there is no time zone {name}.") from error


def _moment(text: object) -> datetime | None:
    if text is None:
        return None
    found = datetime.fromisoformat(str(text))
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _input(target: Mapping[str, Any], arn: str, at: datetime) -> str:
    known = {
        "attempt-number": "1",
        "execution-id": str(uuid.uuid4()),
        "schedule-arn": arn,
        "scheduled-time": _written(at),
    }
    if "Input" not in target:
        return json.dumps(_event("aws.scheduler", arn, at, "{}"))
    return _CONTEXT.sub(lambda found: known.get(found[1], found[0]), str(target["Input"]))


def _event(source: str, arn: str, at: datetime, detail: object) -> dict[str, Any]:
    region, account = arn.split(":")[3:5]
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "Scheduled Event",
        "source": source,
        "account": account,
        "time": _written(at),
        "region": region,
        "resources": [arn],
        "detail": detail,
    }


def _written(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _changed(change: Change, world: World) -> Created:
    _removed(change.before, change.created, world)
    return _schedule(change.after, world)


def _removed(resource: Resource, _created: Created, world: World) -> None:
    world.schedules.pop(resource.logical_id, None)


KINDS = {
    "AWS::Scheduler::Schedule": Kind(
        _schedule,
        served=(
            "EndDate",
            "GroupName",
            "Name",
            "ScheduleExpression",
            "ScheduleExpressionTimezone",
            "StartDate",
            "State",
            "Target",
        ),
        harmless=("FlexibleTimeWindow", "KmsKeyArn", "ActionAfterCompletion"),
        update=_changed,
        remove=_removed,
        can_be_spared=True,
    ),
    "AWS::Scheduler::ScheduleGroup": Kind(named, harmless=("Name",)),
}
