"""The repository's own template on the local stack, with a bucket to profile from."""

import json
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from local import LocalStack

ROOT: Final = Path(__file__).parents[2]
PENGUINS: Final = ROOT / "examples" / "data" / "penguins-raw.csv"
BUCKET: Final = "datasets"

Json = dict[str, Any]


@dataclass(frozen=True)
class Execution:
    """How an execution ended."""

    status: str
    output: Json | None
    error: str | None
    cause: str | None


@contextmanager
def stack_with_bucket() -> Generator[LocalStack]:
    """Serve template.yaml, and create the bucket."""
    with LocalStack(ROOT / "template.yaml", parameters={"ProfileBucketName": BUCKET}) as stack:
        stack.client("s3").create_bucket(Bucket=BUCKET)
        yield stack


def store(stack: LocalStack, key: str, content: bytes) -> str:
    """Put a file into the bucket; give its URI."""
    stack.client("s3").put_object(Bucket=BUCKET, Key=key, Body=content)
    return f"s3://{BUCKET}/{key}"


def execute(stack: LocalStack, arguments: Json) -> Execution:
    """Run profile_dataset to its end."""
    client = stack.client("stepfunctions")
    arn = client.start_execution(stateMachineArn=_machine(stack), input=json.dumps(arguments))["executionArn"]
    deadline = time.monotonic() + 60
    while (execution := client.describe_execution(executionArn=arn))["status"] == "RUNNING":
        assert time.monotonic() < deadline, "the execution takes too long"
        time.sleep(0.02)  # there is nothing to wait on: Step Functions is polled
    output = execution.get("output")
    return Execution(
        execution["status"], json.loads(output) if output else None, execution.get("error"), execution.get("cause")
    )


def _machine(stack: LocalStack) -> str:
    # The newest: stacks share the simulated account.
    machines: list[Json] = stack.client("stepfunctions").list_state_machines()["stateMachines"]
    ours = [machine for machine in machines if "ProfileDataset" in machine["name"]]
    return max(ours, key=lambda machine: machine["creationDate"])["stateMachineArn"]
