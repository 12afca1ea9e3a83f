"""What function catalog is made of. Apart from `bootstrap`: it needs YAML and pydantic, which no other function loads.

Its events: "Parameter Store Change", "Tag Change on Resource", and the schedule of the sweep, with which it looks at
every state machine anew.
"""

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Any, Final

from aws_lambda_powertools import Logger
from msgspec.structs import replace

from stepwire.aws.clients import (
    patient_dynamodb_client,
    patient_step_functions_client,
    ssm_client,
    tagging_client,
)
from stepwire.aws.elsewhere import client_elsewhere
from stepwire.aws.invocations import builds_once
from stepwire.aws.registry import KnownTags, Parameters, TaggedStateMachines
from stepwire.aws.settings import CatalogSettings, read_catalog_settings
from stepwire.aws.storage.published_catalog import DynamoDbCatalog
from stepwire.aws.storage.table import Table
from stepwire.catalog.published import Compiled, Registered
from stepwire.catalog.registration import Compiler
from stepwire.catalog.tools import CompiledTool
from stepwire.errors import SaveConflict, StoreBusy

_SCHEDULED: Final = "Scheduled Event"
_TAGS_CHANGED: Final = "Tag Change on Resource"
_PARAMETER_CHANGED: Final = "Parameter Store Change"
_MOST_TRIES: Final = 5
_TO_PUBLISH: Final = 30_000  # milliseconds at the end of a run: one manifest, and the writes of all parts


class CatalogHandler:
    """Compiles and publishes the registered tools."""

    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._now = now
        self._known_tags = KnownTags(now)

    @builds_once
    def __call__(self, event: dict[str, Any], context: Any) -> None:
        """Compile what is registered, as the event may have changed it, as far as the time of this run goes."""
        machines = self._machines(event)
        compiler, done = self._compiler(event, machines, context), dict[str, CompiledTool]()
        for _ in range(_MOST_TRIES):
            version, previous = self._published.load()
            registered = self._registered(event)
            if registered:
                _ = machines.listed  # a fault here is no manifest's: the run fails and is repeated
            compiled = compiler.compile(registered, {**previous, **done}, self._published.earlier())
            try:
                self._published.publish(compiled, version, self._now())
            except SaveConflict:  # another event compiles at the same time
                compiler, done = replace(compiler, recheck=False), dict(compiled.tools)
                continue
            self._log(compiled)
            return
        raise StoreBusy

    def _registered(self, event: dict[str, Any]) -> list[Registered]:
        gone = _deleted_in(event)
        return [one for one in self._parameters.registered() if one.source != gone]

    def _machines(self, event: dict[str, Any]) -> TaggedStateMachines:
        return TaggedStateMachines(
            self._settings.endpoint.name,
            self._settings.allowed,
            tagging_client,
            patient_step_functions_client,
            self._known_tags,
            _tags_in(event),
            client_elsewhere,
            trusts_events=event.get("detail-type") != _SCHEDULED,
        )

    def _compiler(self, event: dict[str, Any], machines: TaggedStateMachines, context: Any) -> Compiler:
        return Compiler(
            self._settings.endpoint,
            machines,
            recheck=event.get("detail-type") == _SCHEDULED,
            release_tools=self._settings.release_tools,
            has_time=partial(_has_time, context),
            owners=self._parameters.owners,
        )

    def _log(self, compiled: Compiled) -> None:
        logger = Logger()
        for one in compiled.refusals:
            logger.warning(
                "a registered tool is refused",
                tool=one.tool,
                parameter=one.source,
                reason=one.reason,
                serves_previous=one.serves_previous,
            )
        logger.info(
            "the catalog was compiled",
            tools=len(compiled.tools),
            refused=len(compiled.refusals),
            waiting=len(compiled.waiting),
        )

    @cached_property
    def _settings(self) -> CatalogSettings:
        return read_catalog_settings(os.environ)

    @cached_property
    def _published(self) -> DynamoDbCatalog:
        return DynamoDbCatalog(Table(self._settings.table_name, patient_dynamodb_client))

    @cached_property
    def _parameters(self) -> Parameters:
        return Parameters(self._settings.path, ssm_client)


def _deleted_in(event: dict[str, Any]) -> str | None:
    """Name the parameter that an event says is gone; a list of parameters may still have it."""
    detail = event.get("detail", {})
    is_deletion = event.get("detail-type") == _PARAMETER_CHANGED and detail.get("operation") == "Delete"
    return detail.get("name") if is_deletion else None


def _tags_in(event: dict[str, Any]) -> Mapping[str, Mapping[str, str]]:
    """Read the tags that an event brings: those that the resources have now."""
    if event.get("detail-type") != _TAGS_CHANGED:
        return {}
    tags: dict[str, str] = event["detail"].get("tags", {})
    return {str(arn): tags for arn in event.get("resources", ())}


def _has_time(context: Any) -> bool:
    """Tell whether a run may begin another manifest; without a Lambda context, always."""
    return context is None or context.get_remaining_time_in_millis() > _TO_PUBLISH
