"""What an application of its own kind has, for the console's page: routes, functions, workflows, tables, queues.

The rules: everything is read when it is asked for, and nothing is changed by looking; of a long list, the first `MOST`
are shown. A function is invoked as an AWS SDK would: with its role, its variables and its timeout.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from boto3.dynamodb.types import TypeDeserializer
from moto.sqs.models import sqs_backends

from stepwire_local.account import tasks as machines
from stepwire_local.console.tasks import Execution, execution_of
from stepwire_local.errors import LocalStackError
from stepwire_local.extras import Query, Refused
from stepwire_local.lambdas.invocations import Failed
from stepwire_local.stack import LocalStack

MOST: Final = 50
_plain: Final = TypeDeserializer()


class Unknown(Refused):
    """The application has no such thing."""

    status = 404


class Resources:
    """The resources of a stack that is served.

    Args:
        stack: The stack.
        shown: Returns an execution as the page draws it.
    """

    def __init__(self, stack: LocalStack, shown: Callable[[Execution], Any]) -> None:
        self._stack = stack
        self._shown = shown

    @property
    def routes(self) -> Mapping[tuple[str, str], Callable[[str, Query, bytes], Any]]:
        """Return what the console's API serves, as `Part.routes` does."""
        return {
            ("GET", "application"): lambda _, _asked, _body: self._overview(),
            ("GET", "items"): lambda table, _, _body: self._items(table),
            ("GET", "queued"): lambda queue, _, _body: self._queued(queue),
            ("GET", "executions"): lambda name, _, _body: self._execution(name) if name else self._executions(),
            ("POST", "invocations"): self._invoke,
            ("POST", "schedules"): self._fire,
        }

    def _overview(self) -> Any:
        return {
            "routes": [{"key": one.key, "signIn": one.authorization} for one in self._stack.api().routes],
            "functions": [
                {"name": name, "notRun": one.settings.not_run} for name, one in self._stack.functions.items()
            ],
            "machines": [machines.names_of_target(arn)[0] for arn in self._machines()],
            "tables": [{"name": name, "items": self._count(name)} for name in self._tables()],
            "queues": [{"name": name, **self._counts(url)} for name, url in self._queues().items()],
            "notServed": list(self._stack.not_served),
        }

    def _tables(self) -> Sequence[str]:
        return [name for one in self._stack.deployments for name in one.world.tables]

    def _machines(self) -> Sequence[str]:
        return [arn for one in self._stack.deployments for arn in one.world.state_machines]

    def _queues(self) -> Mapping[str, str]:
        """Map the names of the queues to their URLs."""
        urls = (url for one in self._stack.deployments for url in one.of_kind("AWS::SQS::Queue"))
        return {url.rpartition("/")[2]: url for url in urls}

    def _count(self, table: str) -> int:
        return self._stack.client("dynamodb").scan(TableName=table, Select="COUNT")["Count"]

    def _items(self, table: str) -> Any:
        if table not in self._tables():
            raise Unknown(f"There is no table {table}.")
        found = self._stack.client("dynamodb").scan(TableName=table, Limit=MOST)["Items"]
        items = [{name: _plain.deserialize(value) for name, value in one.items()} for one in found]
        return json.loads(json.dumps(items, default=_text))

    def _counts(self, url: str) -> Mapping[str, int]:
        names = {
            "ApproximateNumberOfMessages": "waiting",
            "ApproximateNumberOfMessagesNotVisible": "taken",
            "ApproximateNumberOfMessagesDelayed": "delayed",
        }
        found = self._stack.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=list(names))["Attributes"]
        return {words: int(found.get(name, 0)) for name, words in names.items()}

    def _queued(self, queue: str) -> Any:
        """Return the messages of a queue without receiving them, which would hide them for a while."""
        if queue not in self._queues():
            raise Unknown(f"There is no queue {queue}.")
        world = self._stack.deployments[0].world
        held: Any = sqs_backends[world.account][world.region].queues[queue]
        return [{"id": one.id, "body": one.body} for one in list(held._messages)[:MOST]]  # noqa: SLF001 - as above

    def _executions(self) -> Any:
        newest = sorted(self._all(), key=lambda one: one.started, reverse=True)
        return [
            {
                "name": one.name,
                "machine": one.machine,
                "status": one.status,
                "startedAt": one.started,
                "error": one.error,
            }
            for one in newest[:MOST]
        ]

    def _execution(self, name: str) -> Any:
        for one in self._all():
            if one.name == name:
                return self._shown(one)
        raise Unknown(f"There is no execution {name}.")

    def _all(self) -> Iterator[Execution]:
        for arn in self._machines():
            if (machine := machines.found(arn)) is not None:
                yield from (execution_of(one) for one in list(machine.executions))

    def _invoke(self, name: str, _query: Query, body: bytes) -> Any:
        function = self._stack.functions.get(name)
        if function is None:
            known = ", ".join(self._stack.functions) or "none"
            raise Unknown(f"There is no function {name}. The functions: {known}.")
        outcome = function.invoke(body.decode() or "{}")
        found = json.loads(outcome.payload)
        if isinstance(outcome, Failed):
            return {"error": f"{found['errorType']}: {found['errorMessage']}", "trace": found.get("stackTrace", [])}
        return {"result": found}

    def _fire(self, name: str, _query: Query, _body: bytes) -> Any:
        try:
            self._stack.fire(name)
        except LocalStackError as error:
            raise Unknown(str(error)) from error
        return {"text": next(one.text for one in self._stack.schedules if one.name == name)}


def _text(value: object) -> object:
    """Return what JSON has no form for, a number, bytes or a set, as it is best read."""
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - of DynamoDB
    text = str(value)
    return int(text) if text.lstrip("-").isdecimal() else text
