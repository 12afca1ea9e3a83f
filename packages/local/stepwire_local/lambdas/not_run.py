"""Functions whose code cannot run here: each invocation fails, and says which stub would answer."""

import logging
from contextlib import AbstractContextManager

from stepwire_local.lambdas.invocations import FunctionSettings, LambdaContext, Outcome, failed, running_as
from stepwire_local.stubs import owners
from stepwire_local.stubs.names import suggested

logger = logging.getLogger(__name__)


class NotRun:
    """An instance of such a function."""

    def __init__(self, settings: FunctionSettings) -> None:
        self._settings = settings

    def running(self) -> AbstractContextManager[None]:
        """Give the block the function's role and its log."""
        return running_as(self._settings)

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
