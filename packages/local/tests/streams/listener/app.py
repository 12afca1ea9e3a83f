"""A function that sends its records to a queue, and fails as the names of the items say.

An item `poison...` always fails, `shy...` twice; `reports` selects whether it raises or names the failed item.
"""

import json
import os
from collections import Counter
from typing import Any

from stepwire_local.iam.clients import aws_client

_LONGEST = 200_000  # bytes of a message; a longer one contains only the number of records

_seen: Counter[str] = Counter()


def handler(event: dict[str, Any], context: Any) -> Any:
    _tell(event)
    for record in event["Records"]:
        name: str = record["dynamodb"]["Keys"]["pk"]["S"]
        _seen[name] += 1
        if name.startswith("poison") or (name.startswith("shy") and _seen[name] <= 2):
            if os.environ["REPORTS"] == "no":
                raise RuntimeError(name)
            return {"batchItemFailures": [{"itemIdentifier": record["dynamodb"]["SequenceNumber"]}]}
    return {"batchItemFailures": []}


def _tell(event: dict[str, Any]) -> None:
    queues = aws_client("sqs", os.environ["AWS_REGION"])
    body = json.dumps(event["Records"])
    if len(body) > _LONGEST:
        body = json.dumps(len(event["Records"]))
    queues.send_message(QueueUrl=os.environ["QUEUE_URL"], MessageBody=body)
