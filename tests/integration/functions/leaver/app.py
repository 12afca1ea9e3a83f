"""A function of a workflow: leaves a large text in S3."""

import json
from typing import Any, cast

import boto3


def handler(event: dict[str, Any], _context: object) -> None:
    """Write an object with a text of so many parts."""
    text = event["part"] * event["parts"]
    body = json.dumps({"text": text, "parts": event["parts"]})
    s3: Any = cast(Any, boto3).client("s3")
    s3.put_object(Bucket=event["bucket"], Key=event["key"], Body=body)
