"""A function that answers the task token of its event before it returns, and sends every event to a queue."""

import json
import os
import time
from typing import Any

from stepwire_local.iam.clients import aws_client


def handler(event: dict[str, Any], context: Any) -> None:
    region = os.environ["AWS_REGION"]
    workflows = aws_client("stepfunctions", region)
    if "succeed" in event:
        workflows.send_task_success(taskToken=event["token"], output=json.dumps(event["succeed"]))
    if "fail" in event:
        workflows.send_task_failure(taskToken=event["token"], error=event["fail"], cause="the function says so")
    aws_client("sqs", region).send_message(QueueUrl=os.environ["QUEUE_URL"], MessageBody=json.dumps(event))
    time.sleep(event.get("seconds", 0))
