"""An AWS on 127.0.0.1 for the processes that are measured: it keeps items by their key, and every start succeeds.

It runs in the process that measures, so its time is nobody's. No TLS: a handshake costs every contender the same.
"""

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from stepwire_local.http_server import LoopbackServer, QuietHandler

EXECUTION: Final = "arn:aws:states:eu-central-1:123456789012:execution:Work:1"


class Aws:
    """Its table, by key, and the operations called."""

    def __init__(self, items: Mapping[str, Any] | None = None) -> None:
        self.items: dict[str, Any] = dict(items or {})
        self.called: list[str] = []
        self.endpoint = ""

    def answer(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Return the response to one operation."""
        self.called.append(operation)
        match operation:
            case "PutItem":
                self.items[_key(request["Item"])] = request["Item"]
            case "GetItem":
                item = self.items.get(_key(request["Key"]))
                return {} if item is None else {"Item": item}
            case "BatchGetItem":
                return {
                    "Responses": {table: self._found(one["Keys"]) for table, one in request["RequestItems"].items()}
                }
            case "StartExecution":
                return {"executionArn": EXECUTION, "startDate": 0}
            case _:
                pass
        return {}

    def _found(self, keys: list[Any]) -> list[Any]:
        return [self.items[_key(key)] for key in keys if _key(key) in self.items]


def _key(item: dict[str, Any]) -> str:
    return json.dumps([item["pk"], item["sk"]])


@contextmanager
def serving(aws: Aws) -> Generator[Aws]:
    """Serve it at its endpoint, a URL."""

    class Answer(QuietHandler):
        def do_POST(self) -> None:
            request = json.loads(self.body())
            body = json.dumps(aws.answer(self.headers["x-amz-target"].rpartition(".")[2], request)).encode()
            self.reply(200, body)

    with LoopbackServer(Answer) as server:
        aws.endpoint = server.origin
        yield aws
