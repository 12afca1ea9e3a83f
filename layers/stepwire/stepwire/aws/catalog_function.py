"""What function catalog is made of. Apart from `bootstrap`: it needs YAML and pydantic, which no other function loads.

Its events: "Parameter Store Change", "Tag Change on Resource", and the schedule of the sweep, with which it looks at
every state machine anew.
"""

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final

from aws_lambda_powertools import Logger

from stepwire.aws.clients import (
    patient_dynamodb_client,
    patient_step_functions_client,
    ssm_client,
    tagging_client,
)
from stepwire.aws.elsewhere import client_elsewhere
from stepwire.aws.registry import Parameters, TaggedStateMachines
from stepwire.aws.settings import CatalogSettings, read_catalog_settings
from stepwire.aws.storage.published_catalog import DynamoDbCatalog
from stepwire.catalog.compiled import Compiled
from stepwire.catalog.registration import CONSENT, Compiler, Registered
from stepwire.errors import SaveConflict, StoreBusy

_SCHEDULED: Final = "Scheduled Event"
_TAGS_CHANGED: Final = "Tag Change on Resource"
_PARAMETER_CHANGED: Final = "Parameter Store Change"
_MOST_TRIES: Final = 5


class CatalogHandler:
    """Compiles and publishes the registered tools."""

    def __call__(self, event: dict[str, Any], _context: object) -> None:
        """Compile all that is registered, as the event may have changed it."""
        for _ in range(_MOST_TRIES):
            version, previous = self._published.load()
            compiled = self._compiler(event).compile(self._registered(event), previous)
            try:
                self._published.publish(compiled, version, datetime.now(UTC))
            except SaveConflict:
                continue  # another event compiles at the same time
            self._log(compiled)
            return
        raise StoreBusy

    def _registered(self, event: dict[str, Any]) -> list[Registered]:
        gone = _deleted_in(event)
        return [one for one in self._parameters.registered() if one.source != gone]

    def _compiler(self, event: dict[str, Any]) -> Compiler:
        settings = self._settings
        machines = TaggedStateMachines(
            settings.endpoint.name,
            settings.allowed,
            tagging_client,
            patient_step_functions_client,
            _consents_in(event, settings.endpoint.name),
            client_elsewhere,
        )
        return Compiler(settings.endpoint, machines, recheck=event.get("detail-type") == _SCHEDULED)

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
        logger.info("the catalog was compiled", tools=len(compiled.tools), refused=len(compiled.refusals))

    @cached_property
    def _settings(self) -> CatalogSettings:
        return read_catalog_settings(os.environ)

    @cached_property
    def _published(self) -> DynamoDbCatalog:
        return DynamoDbCatalog(self._settings.table_name, patient_dynamodb_client)

    @cached_property
    def _parameters(self) -> Parameters:
        return Parameters(self._settings.path, ssm_client)


def _deleted_in(event: dict[str, Any]) -> str | None:
    """Name the parameter that an event says is gone; a list of parameters may still have it."""
    detail = event.get("detail", {})
    is_deletion = event.get("detail-type") == _PARAMETER_CHANGED and detail.get("operation") == "Delete"
    return detail.get("name") if is_deletion else None


def _consents_in(event: dict[str, Any], endpoint: str) -> Mapping[str, bool]:
    """Read the tags that an event brings: those that the resource has now."""
    if event.get("detail-type") != _TAGS_CHANGED:
        return {}
    consents: bool = event["detail"].get("tags", {}).get(CONSENT) == endpoint
    return {str(arn): consents for arn in event.get("resources", ())}
