"""Patches of DynamoDB: one call at a time, and idempotent transactions."""

import json
import threading
import time
from collections.abc import Callable
from typing import Any

from moto.dynamodb.responses import DynamoHandler

_Replace = Callable[[object, str, object], None]

_TOKEN_LIFETIME = 600  # seconds

# Held during each DynamoDB call, and by code here that reads moto's tables directly.
turns = threading.RLock()


def calls_take_turns(replace: _Replace) -> None:
    """Patch: Run one DynamoDB call at a time.

    Defect: Tables are not thread-safe: concurrent calls ignore conditions, split transactions and change tables
    while they are read.
    """
    original: Any = DynamoHandler.call_action

    def call_action(self: Any) -> Any:
        with turns:
            return original(self)

    replace(DynamoHandler, "call_action", call_action)


def transactions_are_idempotent(replace: _Replace) -> None:
    """Patch: Return the first response again, for 10 minutes.

    Defect: A TransactWriteItems that is repeated with the same ClientRequestToken is written again.
    """
    original: Any = DynamoHandler.transact_write_items
    answers: dict[tuple[str, str, str], tuple[float, str, Any]] = {}

    def transact_write_items(self: Any) -> Any:
        token: str | None = self.body.get("ClientRequestToken")
        if token is None:
            return original(self)
        key = (self.current_account, self.region, token)
        request = json.dumps(self.body["TransactItems"], sort_keys=True, default=str)
        written = answers.get(key)
        if written and time.monotonic() - written[0] < _TOKEN_LIFETIME and written[1] == request:
            return written[2]
        answer = original(self)
        answers[key] = (time.monotonic(), request, answer)
        return answer

    replace(DynamoHandler, "transact_write_items", transact_write_items)


PATCHES = (calls_take_turns, transactions_are_idempotent)
