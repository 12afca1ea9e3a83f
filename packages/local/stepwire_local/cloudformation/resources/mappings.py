"""Event source mappings to a function, from the stream of a table or from a queue."""

import hashlib
import json
import re
import uuid
from collections.abc import Mapping
from typing import Any, cast

from moto.events.exceptions import InvalidEventPatternException
from moto.events.models import EventPattern

from stepwire_local.cloudformation.resources.kinds import Created, Kind, Resource, World, destination, needs_of
from stepwire_local.cloudformation.resources.roles import QUEUE_READS, STREAM_READS, check_allowed
from stepwire_local.errors import TemplateError
from stepwire_local.iam.actions import Need
from stepwire_local.lambdas.functions import Function
from stepwire_local.streams.mappings import Mapping as StreamMapping
from stepwire_local.streams.mappings import MappingSettings
from stepwire_local.streams.queues import QueueMapping, QueueMappingSettings

_POSITIONS = ("TRIM_HORIZON", "LATEST")
_LARGEST_BATCH = 10_000
_OPERATORS = frozenset(("anything-but", "equals-ignore-case", "exists", "numeric", "prefix", "suffix"))


def _mapping(resource: Resource, world: World) -> Created:
    identifier = str(uuid.UUID(hashlib.sha256(world.name(resource).encode()).hexdigest()[:32]))
    created = Created(identifier, {"Id": identifier, "EventSourceMappingArn": _arn(world, identifier)})
    source = str(resource.properties.get("EventSourceArn", ""))
    service = f"{source}::".split(":")[2]
    if service == "sqs":
        return _queue_mapping(resource, world, source, created)
    if service != "dynamodb":
        world.notes.append(f"{resource.logical_id}: events of the service {service or 'that it names'} do not arrive")
        return created
    if source.split(":")[5].split("/")[1] not in world.tables:
        raise TemplateError(f"{resource.logical_id}: {source} is not the stream of a table in this template.")
    settings = _settings(resource, world, source)
    check_allowed(resource, _function(resource, world).settings.role, _needs(settings))
    mapping = StreamMapping(settings, latest=_position(resource) == "LATEST")
    if str(resource.properties.get("Enabled", True)).lower() == "true":
        world.mappings.append(mapping)
    return created


def _queue_mapping(resource: Resource, world: World, source: str, created: Created) -> Created:
    settings = QueueMappingSettings(
        queue_arn=source,
        function=_function(resource, world),
        batch_size=_number(resource, "BatchSize", 10, most=_LARGEST_BATCH) or 1,
        filters=_filters(resource, world),
        reports_failures="ReportBatchItemFailures" in resource.properties.get("FunctionResponseTypes", ()),
    )
    role = _function(resource, world).settings.role
    check_allowed(resource, role, [Need(f"sqs:{name}", source) for name in QUEUE_READS])
    if str(resource.properties.get("Enabled", True)).lower() == "true":
        world.mappings.append(QueueMapping(settings))
    return created


def _arn(world: World, identifier: str) -> str:
    return world.arn("lambda", f"event-source-mapping:{identifier}")


def _settings(resource: Resource, world: World, source: str) -> MappingSettings:
    properties = resource.properties
    return MappingSettings(
        stream_arn=source,
        function=_function(resource, world),
        batch_size=_number(resource, "BatchSize", 100, most=_LARGEST_BATCH) or 1,
        filters=_filters(resource, world),
        reports_failures="ReportBatchItemFailures" in properties.get("FunctionResponseTypes", ()),
        bisects=str(properties.get("BisectBatchOnFunctionError", False)).lower() == "true",
        retries=_limit(_number(resource, "MaximumRetryAttempts", -1, most=10_000)),
        max_age=_limit(_number(resource, "MaximumRecordAgeInSeconds", -1, most=604_800)),
        dead_letters=_destination(resource, world),
    )


def _needs(settings: MappingSettings) -> list[Need]:
    """Return the permissions that Lambda needs in the function's role."""
    reads = [Need(f"dynamodb:{name}", settings.stream_arn) for name in STREAM_READS]
    return [*reads, *needs_of(settings.dead_letters)]


def _function(resource: Resource, world: World) -> Function:
    """Find a function by its name or ARN, with or without a version."""
    named = str(resource.properties["FunctionName"])
    for function in world.functions.values():
        known = (function.settings.name, function.settings.arn)
        if named in known or named.rpartition(":")[0] in known:
            return function
    raise TemplateError(f"{resource.logical_id}: {named} is not a function of this template.")


def _number(resource: Resource, name: str, default: int, *, most: int) -> int:
    given = int(resource.properties.get(name, default))
    if not -1 <= given <= most:
        raise TemplateError(f"{resource.logical_id}: {name} is {given}, but must be at most {most}.")
    return given


def _limit(given: int) -> int | None:
    return None if given == -1 else given


def _position(resource: Resource) -> str:
    position = str(resource.properties.get("StartingPosition", ""))
    if position not in _POSITIONS:
        raise TemplateError(f"{resource.logical_id}: StartingPosition must be one of {', '.join(_POSITIONS)}.")
    return position


def _destination(resource: Resource, world: World) -> str | None:
    arn: str | None = resource.properties.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination")
    return destination(resource, arn, "failed records", world)


def _filters(resource: Resource, world: World) -> tuple[EventPattern, ...]:
    filters: list[dict[str, str]] = resource.properties.get("FilterCriteria", {}).get("Filters", [])
    return tuple(_pattern(resource, world, entry.get("Pattern", "{}")) for entry in filters)


def _pattern(resource: Resource, world: World, text: str) -> EventPattern:
    try:
        pattern = EventPattern.load(text)
    except InvalidEventPatternException as error:
        raise TemplateError(f"{resource.logical_id}: the filter {text} is not a pattern: {error.message}") from error
    operators = _operators_of(json.loads(text))
    if unknown := sorted(operators - _OPERATORS):
        raise TemplateError(f"{resource.logical_id}: the filter {text} has an unknown operator: {', '.join(unknown)}.")
    if "numeric" in operators and re.search(r'"(Keys|NewImage|OldImage)"', text):
        # As in AWS, the numbers of an item are strings in a record.
        world.notes.append(f"{resource.logical_id}: numeric never matches: stream records have numbers as strings")
    return pattern


def _operators_of(pattern: Mapping[str, Any]) -> set[str]:
    """Return the operator names in a pattern's lists; the entries of $or are patterns themselves."""
    found: set[str] = set()
    for name, value in pattern.items():
        if isinstance(value, dict):
            found |= _operators_of(cast("dict[str, Any]", value))
            continue
        entries = [cast("dict[str, Any]", entry) for entry in value if isinstance(entry, dict)]
        found.update(*(_operators_of(entry) if name == "$or" else set(entry) for entry in entries))
    return found


KINDS = {
    "AWS::Lambda::EventSourceMapping": Kind(
        _mapping,
        served=(
            "BatchSize",
            "BisectBatchOnFunctionError",
            "DestinationConfig",
            "Enabled",
            "EventSourceArn",
            "FilterCriteria",
            "FunctionName",
            "FunctionResponseTypes",
            "MaximumRecordAgeInSeconds",
            "MaximumRetryAttempts",
            "StartingPosition",
        ),
        harmless=("ScalingConfig",),
        note=(
            "queues: failed messages come again after a second; streams: a failing function is retried after tenths of "
            "a second, and records are kept until the end"
        ),
    ),
}
