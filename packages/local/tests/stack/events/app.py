"""A function that writes each event to the table, except one whose workflow input is "poison"."""

import json
import os
import uuid
from typing import Any

from stepwire_local.iam.clients import aws_client


def handler(event: dict[str, Any], context: Any) -> None:
    if "poison" in (event["detail"]["input"] or ""):
        raise RuntimeError("poison")
    table = aws_client("dynamodb", os.environ["AWS_REGION"])
    item = {"pk": {"S": str(uuid.uuid4())}, "event": {"S": json.dumps(event)}}
    table.put_item(TableName=os.environ["TABLE_NAME"], Item=item)
