"""Canned HTTP responses of Step Functions, served to botocore's own client without a network."""

import json
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, cast

import boto3
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.config import Config
from botocore.exceptions import (
    ReadTimeoutError,
)
from mypy_boto3_stepfunctions import SFNClient

from stepwire.aws.step_functions import StepFunctionsWorkflows
from stepwire.tasks.task import Execution
from tests.kits import state_machine_arn

EXECUTION = Execution(state_machine_arn("Example"), "a-name")
READ_TIMEOUT = ReadTimeoutError(endpoint_url="https://states.example")


def refusal(code: str, status: int = 400) -> tuple[int, dict[str, Any]]:
    """Return an error response of Step Functions."""
    return status, {
        "__type": f"com.amazonaws.swf.service.v2.model#{code}",
        "message": "AWS's own words, arn:aws:secret",
    }


class _Body(BytesIO):
    def stream(self, **_: object) -> Any:
        yield self.read()


@dataclass
class Wire:
    """The responses of Step Functions, one per attempt; no attempt reaches the network."""

    answers: list[tuple[int, dict[str, Any]] | Exception]
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def __call__(self, request: Any, **_: object) -> AWSResponse:
        self.asked.append(json.loads(request.body))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        status, body = answer
        raw = _Body(json.dumps(body).encode())
        headers = HTTPHeaders.from_pairs([("content-type", "application/x-amz-json-1.0")])
        return AWSResponse(request.url, status, headers, raw)

    def workflows(self) -> StepFunctionsWorkflows:
        """Return the adapter on this wire; its client makes as many attempts as there are responses."""
        return StepFunctionsWorkflows(self._client)

    def _client(self) -> SFNClient:
        client = boto3.client(  # pyright: ignore[reportUnknownMemberType] - not all stubs are there
            "stepfunctions",
            region_name="eu-central-1",
            aws_access_key_id="nobody",
            aws_secret_access_key="nothing",
            config=Config(retries={"mode": "standard", "total_max_attempts": len(self.answers)}),
        )
        client.meta.events.register_first("before-send.stepfunctions", cast(Any, self))
        return client
