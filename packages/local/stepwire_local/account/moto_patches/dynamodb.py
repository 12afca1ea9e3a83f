"""Patches of DynamoDB: one call at a time."""

import threading
from collections.abc import Callable
from typing import Any

from moto.dynamodb.responses import DynamoHandler

_Replace = Callable[[object, str, object], None]

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


PATCHES = (calls_take_turns,)
