"""What the tools of the peers do: start an execution, as their authors would, or nothing."""

import os
from functools import cache
from typing import Any

MACHINE = "arn:aws:states:eu-central-1:123456789012:stateMachine:Work"


@cache
def _client() -> Any:
    import boto3  # noqa: PLC0415 - a tool that calls no AWS needs none of it

    return boto3.client("stepfunctions")


def work(message: str, seconds: int) -> str:
    """Start the workflow, if CALLS says so, and return its execution."""
    if not os.environ["CALLS"]:
        return message
    return _client().start_execution(stateMachineArn=MACHINE, input=f'{{"seconds":{seconds}}}')["executionArn"]
