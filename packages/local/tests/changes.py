"""A served table whose stream invokes a function, for tests of streams."""

import json
from pathlib import Path
from typing import Any

from stepwire_local import LocalStack

TEMPLATE = Path(__file__).parent / "streams" / "template.yaml"


class Table:
    """The table of a stack, and the results of its changes."""

    def __init__(self, stack: LocalStack) -> None:
        self.stack = stack
        self.name = stack.outputs["Table"]
        self.client = stack.client("dynamodb")

    def put(self, name: str, **attributes: Any) -> None:
        self.client.put_item(TableName=self.name, Item={"pk": {"S": name}, **attributes})

    def put_together(self, *names: str) -> None:
        """Put items so that one batch contains all of them: in one call, while the reader waits for the lock."""
        puts = [{"Put": {"TableName": self.name, "Item": {"pk": {"S": name}}}} for name in names]
        self.client.transact_write_items(TransactItems=puts)

    def delete(self, name: str) -> None:
        self.client.delete_item(TableName=self.name, Key={"pk": {"S": name}})

    def names(self) -> set[str]:
        return {item["pk"]["S"] for item in self.client.scan(TableName=self.name)["Items"]}

    def batches(self) -> list[list[dict[str, Any]]]:
        """Return the records of each invocation, after all are processed."""
        self.stack.drain()
        return self._messages("Seen")

    def named(self) -> list[list[str]]:
        """Return the names of the items of each invocation, after all are processed."""
        return [[record["dynamodb"]["Keys"]["pk"]["S"] for record in batch] for batch in self.batches()]

    def records(self) -> list[dict[str, Any]]:
        """Return the records in the order in which the function got them, after all are processed."""
        return [record for batch in self.batches() for record in batch]

    def letters(self) -> list[dict[str, Any]]:
        self.stack.drain()
        return self._messages("Lost")

    def _messages(self, queue: str) -> list[Any]:
        bodies: list[Any] = []
        request = {"QueueUrl": self.stack.outputs[queue], "MaxNumberOfMessages": 10, "VisibilityTimeout": 60}
        while received := self.stack.client("sqs").receive_message(**request).get("Messages"):
            bodies += [json.loads(message["Body"]) for message in received]
        return bodies
