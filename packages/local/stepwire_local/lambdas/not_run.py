"""Functions whose code cannot run here: each invocation fails, and says which stub would answer."""

import logging
from collections.abc import Generator
from contextlib import contextmanager

from stepwire_local.iam.permissions import acting_as
from stepwire_local.lambdas.function_output import output_of
from stepwire_local.lambdas.invocations import FunctionSettings, LambdaContext, Outcome, failed
from stepwire_local.stubs import owners
from stepwire_local.stubs.names import suggested

logger = logging.getLogger(__name__)


class NotRun:
    """An instance of such a function."""

    def __init__(self, settings: FunctionSettings) -> None:
        self._settings = settings

    @contextmanager
    def running(self) -> Generator[None]:
        """Give the block the function's role and its log."""
        with acting_as(self._settings.role), output_of(self._settings.name):
            yield

    def warm(self) -> None:
        """Do nothing: there is nothing to prepare."""

    def run(self, event: str, context: LambdaContext, seconds: float) -> Outcome:  # noqa: ARG002  # what all are given
        """Return why it does not run."""
        settings, name = self._settings, owners.name_of(self._settings.arn)
        message = f"the function {name} cannot run here: {settings.not_run}: {suggested(name)}"
        logger.warning(message)
        return failed(settings.error_type, message)

    def retire(self) -> None:
        """Do nothing: nothing runs."""

    def close(self) -> None:
        """Do nothing: nothing runs."""
