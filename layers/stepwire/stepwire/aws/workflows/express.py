"""Executions of EXPRESS state machines that a request waits for. Loaded with the first call of such a tool.

The rule: a call is sent once. Step Functions runs a repeated one again.
"""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,  # noqa: A004 - botocore's, not Python's
    HTTPClientError,
    ReadTimeoutError,
)
from msgspec import Struct

from stepwire.aws.workflows.step_functions import start_error, state_of
from stepwire.errors import NoEndInTime, StartRefused, StartUnclear
from stepwire.tasks.outcomes import ExecutionEnd, Missing, Running
from stepwire.tasks.task import Execution

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient


class StepFunctionsExpress(Struct, frozen=True, dict=True):
    """`SyncWorkflows` on Step Functions. The client, which must not retry, is built on the first call."""

    build_client: "Callable[[], SFNClient]"

    @cached_property
    def _client(self) -> "SFNClient":
        return self.build_client()

    def run(self, execution: Execution, input_text: str, trace_header: str | None = None) -> ExecutionEnd:
        trace: dict[str, Any] = {} if trace_header is None else {"traceHeader": trace_header}
        try:
            ended = self._client.start_sync_execution(
                stateMachineArn=execution.started_arn, name=execution.name, input=input_text, **trace
            )
        except ClientError as error:
            raise start_error(error) from error
        except ConnectionError as error:  # nothing was sent
            raise StartRefused("Step Functions could not be reached; try again") from error
        except ReadTimeoutError as error:
            raise NoEndInTime from error
        except HTTPClientError as error:
            raise StartUnclear from error
        except BotoCoreError as error:  # nothing was sent
            raise StartRefused("this server is not set up to call Step Functions") from error
        state = state_of(ended)
        if isinstance(state, Running | Missing):
            raise StartUnclear
        return state
