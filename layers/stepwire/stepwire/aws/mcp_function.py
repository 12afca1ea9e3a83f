"""The composition root of function mcp, which answers clients.

Importing the handler builds nothing. The first event, `warm` or `prepare` builds what is needed, once.
"""

import importlib
import os
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from stepwire.aws.audit_log import SampledPolls
from stepwire.aws.bootstrap import ports_of, refuses_of
from stepwire.aws.clients import (
    dynamodb_client,
    is_weather,
    read_service_models,
    secrets_manager_client,
    step_functions_client,
)
from stepwire.aws.gateway import request_of, response_of
from stepwire.aws.invocations import SystemClock, builds_once, deadline_of, log_fault, new_logger
from stepwire.aws.secrets_manager import Secret
from stepwire.aws.settings import McpSettings, check_extras, check_scopes, read_mcp_settings
from stepwire.aws.storage.limiter import CallerUsage
from stepwire.aws.storage.published_catalog import DynamoDbCatalog
from stepwire.aws.storage.table import Table
from stepwire.catalog.live import LiveCatalog
from stepwire.catalog.tools import Catalog, read_catalog
from stepwire.composition import switched_on
from stepwire.engine.assembly import Engine, Settings, assemble
from stepwire.engine.limiter import PollLimit
from stepwire.engine.recorder import Recorder
from stepwire.errors import AccessDenied, NotSignedIn, UnknownPath
from stepwire.hooks import Ground
from stepwire.server.composition import parts_with
from stepwire.server.mcp_server import McpServer, Spans, refusal
from stepwire.server.services import Services

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger

    from stepwire.engine.express import ExpressCalls


class McpHandler:
    """Handles function mcp: answers requests from API Gateway."""

    @builds_once
    def __call__(self, event: dict[str, Any], context: object) -> dict[str, Any]:
        """Return the response to one request."""
        at = SystemClock().now()
        deadline = deadline_of(context, at)
        try:
            caller = self._settings.sign_in.caller_of(event)
        except AccessDenied as error:
            self._logger.warning("a sign-in is insufficient", fault=type(error).__name__, detail=error.data)
            return response_of(refusal(error))
        except NotSignedIn as error:
            self._logger.error("the request has no identity: configure an authorizer on the route")  # noqa: TRY400 - no fault
            return response_of(refusal(error))
        try:
            request = request_of(event, caller, at, deadline)
        except UnknownPath as error:
            return response_of(refusal(error))
        return response_of(self._server.handle(request))

    def warm(self) -> None:
        """Build what needs no AWS call, so that a wrong setting or manifest fails before the first request."""
        _ = self._server

    def prepare(self) -> None:
        """Build everything that a snapshot may contain (`stepwire.aws.invocations`)."""
        _ = self._server
        self._built_in.compile_schemas()
        read_service_models("dynamodb", "stepfunctions", "secretsmanager")
        _ = self._logger
        importlib.import_module("pydantic_core")  # reads what is not small (`stepwire.json_text`)

    @cached_property
    def _settings(self) -> McpSettings:
        return read_mcp_settings(os.environ)

    @cached_property
    def _table(self) -> Table:
        return Table(self._settings.table_name, dynamodb_client)

    @cached_property
    def _built_in(self) -> Catalog:
        """The tools that are part of this release."""
        settings = self._settings
        catalog = read_catalog(settings.catalog.read_text(encoding="utf-8"), settings.state_machines)
        check_scopes(os.environ, settings.access, catalog)
        check_extras(settings.extras, catalog)
        return catalog

    @cached_property
    def _server(self) -> McpServer:
        settings = self._settings
        audit = SampledPolls(settings.polls_per_log_line)
        ports = ports_of(self._table, step_functions_client, self._report, audit)
        engine = assemble(
            ports, Settings(settings.intervals, settings.limits, settings.waits, settings.execution_prefix)
        )
        secret = Secret(settings.secret_arn, secrets_manager_client)
        express = cache(lambda: self._express(engine))
        services = Services(
            catalog=self._catalog(engine.recorder),
            operations=engine.operations,
            calls=engine.calls,
            express=lambda call, deadline: express().run(call, deadline),
            answers=engine.answers,
            patience=settings.patience,
            secret=secret,
            other_secrets=secret.others,
            resuming=settings.resuming,
            polls=PollLimit(settings.polls_per_second),
            report=self._report,
            parts=parts_with(switched_on(settings.extras)),
            ground=Ground(self._table, os.environ, engine),
            access=settings.access,
            refuses=refuses_of(self._table, self._report),
            identity=settings.identity,
            is_weather=is_weather,
        )
        return McpServer(services, settings.allowed_origins, self._report_failure, self._spans())

    def _spans(self) -> Spans | None:
        """Build what makes requests spans; None, and nothing loaded, while it is off."""
        settings = self._settings
        if not (settings.x_ray or settings.spans):
            return None
        from stepwire.aws.request_spans import RequestSpans  # noqa: PLC0415

        return RequestSpans(x_ray=settings.x_ray, writes=settings.spans)

    def _catalog(self, recorder: Recorder) -> Catalog:
        if not self._settings.registered_tools:
            return self._built_in
        source = DynamoDbCatalog(self._table)
        return LiveCatalog(self._built_in, source, recorder.clock.now, self._report, self._settings.extras)

    def _express(self, engine: Engine) -> "ExpressCalls":
        """Build what runs tools of type EXPRESS; most requests need none of it."""
        from stepwire.aws.clients import sync_step_functions_client  # noqa: PLC0415
        from stepwire.aws.step_functions import StepFunctionsExpress  # noqa: PLC0415

        patience = self._settings.patience.unresumable_request
        workflows = StepFunctionsExpress(lambda: sync_step_functions_client(patience))
        return engine.express(CallerUsage(self._table), workflows, patience)

    @cached_property
    def _logger(self) -> "Logger":
        return new_logger()

    def _report(self, fault: Exception) -> None:
        log_fault(fault, "a request met a fault", "check postponed", self._logger)

    def _report_failure(self, fault: Exception) -> None:
        log_fault(fault, "a request met a fault", "request throttled", self._logger)
