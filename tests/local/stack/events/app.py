"""Writes each event that arrives to the table, except one that a workflow's input calls poison."""

import json
import os
import uuid
from typing import Any

import boto3


def handler(event: dict[str, Any], context: Any) -> None:
    if "poison" in (event["detail"]["input"] or ""):
        raise RuntimeError("poison")
    table: Any = boto3.client("dynamodb")
    item = {"pk": {"S": str(uuid.uuid4())}, "event": {"S": json.dumps(event)}}
    table.put_item(TableName=os.environ["TABLE_NAME"], Item=item)
