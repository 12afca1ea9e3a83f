"""Patches of DynamoDB: one call at a time, and transactions that do not copy their tables."""

import copy
import threading
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from functools import partial
from typing import Any

from moto.dynamodb import models
from moto.dynamodb.exceptions import MockValidationException, ResourceNotFoundException
from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.table import Table
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


def transactions_copy_what_they_write(replace: _Replace) -> None:
    """Patch: Copy the items that a transaction names, and put them back if it fails.

    Defect: A transaction copies its whole table, with every record of the stream, once for each of its items.
    """
    original: Any = DynamoDBBackend.transact_write_items

    def transact_write_items(self: Any, transact_items: Sequence[Mapping[str, Any]]) -> None:
        parts = [part for item in transact_items for part in item.values()]
        undo = [step for part in parts for step in _undoing(self, part)]
        try:
            original(self, transact_items)
        except Exception:
            for step in undo:
                step()
            raise

    replace(DynamoDBBackend, "transact_write_items", transact_write_items)
    replace(models, "copy", _TablesStay)  # this module copies tables for transactions only


class _TablesStay:
    """What stands for the module `copy` where tables are not copied."""

    @staticmethod
    def deepcopy(value: Any) -> Any:
        return value if isinstance(value, Table) else copy.deepcopy(value)


def _undoing(backend: Any, part: Mapping[str, Any]) -> list[Callable[[], None]]:
    """Return the steps that restore what a part of a transaction changes; none for a part that moto refuses."""
    try:
        table = backend.get_table(part["TableName"])
        partition, place = backend.get_keys_value(table, part["Key"] if "Key" in part else part["Item"])
    except (KeyError, MockValidationException, ResourceNotFoundException):
        return []
    items, key = (table.items[partition], place) if table.has_range_key else (table.items, partition)
    steps = [partial(_restore, items, key, copy.deepcopy(items.get(key)))]
    if (shard := table.stream_shard) is not None:
        steps.append(partial(setattr, shard, "items", list(shard.items)))
        steps.append(partial(setattr, shard, "starting_sequence_number", shard.starting_sequence_number))
    return steps


def _restore(items: MutableMapping[Any, Any], key: Any, item: Any) -> None:
    if item is None:
        items.pop(key, None)
    else:
        items[key] = item


PATCHES = (calls_take_turns, transactions_copy_what_they_write)
