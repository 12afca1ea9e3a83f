"""Records of a DynamoDB stream in the event that Lambda passes to a function, and how Lambda reads the response.

Pure. The sources are the Lambda developer guide, "Using Lambda with DynamoDB" and "Retain discarded records".
"""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from stepwire_local.lambdas.invocations import Failed, Outcome

Record = Mapping[str, Any]  # in the format of Lambda's event


def event_record(record: Mapping[str, Any], stream_arn: str) -> Record:
    """Convert moto's record of a change to the format of Lambda's event."""
    created: datetime = record["dynamodb"]["ApproximateCreationDateTime"]
    change = {name: value for name, value in record["dynamodb"].items() if name != "ApproximateCreationDateTime"}
    made: dict[str, Any] = {
        "eventID": record["eventID"],
        "eventName": record["eventName"],
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": stream_arn.split(":")[3],
        "dynamodb": {"ApproximateCreationDateTime": int(created.replace(tzinfo=UTC).timestamp()), **change},
        "eventSourceARN": stream_arn,
    }
    made = json.loads(json.dumps(made, default=_base64))
    if actor := record.get("userIdentity"):
        made["userIdentity"] = {"type": actor["Type"], "principalId": actor["PrincipalId"]}
    return made


def _base64(value: object) -> str:
    if not isinstance(value, bytes):
        raise TypeError(f"{type(value)} is not a DynamoDB attribute value")
    return base64.b64encode(value).decode()


def sequence_number(record: Record) -> str:
    """Return the sequence number, by which functions report failed records."""
    return record["dynamodb"]["SequenceNumber"]


def created_at(record: Record) -> float:
    """Return the time of the change in seconds since 1970, rounded down."""
    return record["dynamodb"]["ApproximateCreationDateTime"]


def unprocessed(batch: Sequence[Record], outcome: Outcome, *, reports: bool) -> Sequence[Record]:
    """Return the unprocessed records: all after a failure; those from the first failed item on if it `reports` items.

    A malformed report, or one that names no item of the batch, counts as a failure of the whole batch.
    """
    if isinstance(outcome, Failed):
        return batch
    if not reports or is_success(result := json.loads(outcome.payload)):
        return ()
    numbers = [sequence_number(record) for record in batch]
    try:
        named = [failure["itemIdentifier"] for failure in result["batchItemFailures"]]
        return batch[min(numbers.index(name) for name in named) :]
    except (KeyError, TypeError, ValueError):
        return batch


def is_success(result: Any) -> bool:
    """Return whether a function that reports failed items reports none."""
    if not isinstance(result, dict):
        return result is None
    return not cast("dict[str, Any]", result).get("batchItemFailures")


@dataclass(frozen=True)
class GivenUp:
    """Records that Lambda has given up."""

    batch: Sequence[Record]
    condition: str  # RetryAttemptsExhausted or RecordAgeExceeded
    outcome: Outcome | None  # of the last invocation, if there was one
    tries: int  # how often the function was invoked for them
    function_arn: str
    shard: str


def dead_letter(given_up: GivenUp, *, request_id: str, at: datetime) -> dict[str, Any]:
    """Return the dead letter: the position of the records in the stream, not their content."""
    batch = given_up.batch
    context = {
        "requestId": request_id,
        "functionArn": given_up.function_arn,
        "condition": given_up.condition,
        "approximateInvokeCount": given_up.tries,
    }
    return {
        "requestContext": context,
        **_answer(given_up.outcome),
        "version": "1.0",
        "timestamp": at.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z",
        "DDBStreamBatchInfo": {
            "shardId": given_up.shard,
            "startSequenceNumber": sequence_number(batch[0]),
            "endSequenceNumber": sequence_number(batch[-1]),
            "approximateArrivalOfFirstRecord": _moment(batch[0]),
            "approximateArrivalOfLastRecord": _moment(batch[-1]),
            "batchSize": len(batch),
            "streamArn": batch[0]["eventSourceARN"],
        },
    }


def _answer(outcome: Outcome | None) -> dict[str, Any]:
    if outcome is None:
        return {}
    error = {"functionError": "Unhandled"} if isinstance(outcome, Failed) else {}
    return {"responseContext": {"statusCode": 200, "executedVersion": "$LATEST", **error}}


def _moment(record: Record) -> str:
    return datetime.fromtimestamp(created_at(record), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
