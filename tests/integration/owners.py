"""Owners of state machines, who register tools by parameters and tags alone."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from stepwire.aws.storage.compiled_catalog import DynamoDbPublisher
from stepwire.aws.storage.table import Table
from tests.integration.stacks import Deployed
from tests.waiting import until

TAG: Final = "stepwire:endpoint"


class Owner:
    """Somebody with a state machine of their own, beside the endpoint's stack."""

    def __init__(self, stack: Deployed, machine: str) -> None:
        self.stack = stack.stack
        self.endpoint = self.stack.name
        self.ssm: Any = self.stack.client("ssm")
        self.states: Any = self.stack.client("stepfunctions")
        self.machine = machine
        self.made: list[str] = []

    def register(self, name: str, text: str | None = None, **more: Any) -> None:
        manifest = {
            "name": name,
            "description": "Echoes.",
            "state_machine": self.machine,
            "input_schema": {"type": "object"},
            **more,
        }
        self.ssm.put_parameter(
            Name=self.path(name), Value=json.dumps(manifest) if text is None else text, Type="String", Overwrite=True
        )
        self.made.append(name)

    def remove(self, name: str) -> None:
        self.ssm.delete_parameter(Name=self.path(name))
        self.made = [one for one in self.made if one != name]

    def path(self, name: str) -> str:
        return f"/stepwire/{self.endpoint}/tools/{name}"

    def tag(self, value: str, key: str = TAG) -> None:
        self.states.tag_resource(resourceArn=self.machine, tags=[{"key": key, "value": value}])

    def untag(self, key: str) -> None:
        self.states.untag_resource(resourceArn=self.machine, tagKeys=[key])

    def leave(self, others: Iterable[str]) -> None:
        """Remove what was registered, and wait until only the others' tools are left."""
        for name in set(self.made):
            self.remove(name)
        self.tag(self.endpoint)
        until(lambda: set(self.published()) == set(others) and not self.refusals())

    def published(self) -> Mapping[str, Any]:
        return self.catalog.load()[1]

    @property
    def catalog(self) -> DynamoDbPublisher:
        """What function catalog has written."""
        return DynamoDbPublisher(Table(self.stack.physical_ids["TasksTable"], lambda: self.stack.client("dynamodb")))

    def refusals(self) -> dict[str, Any]:
        table = self.stack.physical_ids["TasksTable"]
        key = {"pk": {"S": "catalog"}, "sk": {"S": "refusals"}}
        item = self.stack.client("dynamodb").get_item(TableName=table, Key=key).get("Item")
        refused: list[dict[str, Any]] = json.loads(item["refused"]["S"])["refused"] if item else []
        return {one["tool"]: one for one in refused}
