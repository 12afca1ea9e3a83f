"""The compiled catalog in the table: parts that never change, and a head that names the parts in force.

    pk "catalog"         sk "head"      version, shards: names of the parts, in order
    pk "catalog#<name>"  sk "shard"     tools: JSON text, compressed; kept for a day after its replacement
    pk "catalog"         sk "refusals"  refused: JSON text, why registered tools are not served, and which wait

Eventually consistent reads suffice, because the parts of an older head stay for a day. The name of a replaced part is
never used again, so a late deletion mark never hits a part in force. No principal is written as "catalog".
"""

import hashlib
import zlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, cast

from botocore.exceptions import ClientError
from msgspec import Struct

from stepwire.aws.storage.conditions import is_failed_condition
from stepwire.aws.storage.items import Item
from stepwire.aws.storage.times import seconds_of
from stepwire.catalog.published import NOTHING_EARLIER, Compiled, Earlier, earlier_in, entries_in
from stepwire.catalog.tools import CompiledTool, Published
from stepwire.errors import SaveConflict, StoreBusy

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_HEAD: Final = {"pk": {"S": "catalog"}, "sk": {"S": "head"}}
_REFUSALS: Final = {"pk": {"S": "catalog"}, "sk": {"S": "refusals"}}
_IS_AS_READ: Final = "version = :version"
_IS_NEW: Final = "attribute_not_exists(pk)"
_REPLACED_KEPT: Final = timedelta(days=1)
_MOST_KEYS: Final = 100  # of one BatchGetItem
_MOST_TRIES: Final = 10


class DynamoDbCatalog(Struct, frozen=True, dict=True):
    """The published catalog in a DynamoDB table. The client is built when the first call needs it."""

    table_name: str
    build_client: "Callable[[], DynamoDBClient]"

    @cached_property
    def _client(self) -> "DynamoDBClient":
        return self.build_client()

    def read(self, known: str | None) -> Published | None:
        """Return what is published; None if nothing is, or if that is still the version `known`."""
        head = self._head(is_consistent=False)
        if head is None or head["version"]["N"] == known:
            return None
        return Published(head["version"]["N"], self._texts(_names_in(head)))

    def load(self) -> tuple[str | None, Mapping[str, CompiledTool]]:
        """Return the version that is published, if any, and its tools by name."""
        head = self._head(is_consistent=True)
        if head is None:
            return None, {}
        entries = [entries_in(text) for text in self._texts(_names_in(head))]
        return head["version"]["N"], {name: tool for part in entries for name, tool in part.items()}

    def earlier(self) -> Earlier:
        """Return what the last run left for the next one."""
        found = self._client.get_item(TableName=self.table_name, Key=_REFUSALS, ConsistentRead=True)
        item = cast(Item | None, found.get("Item"))
        return NOTHING_EARLIER if item is None else earlier_in(item["refused"]["S"])

    def publish(self, compiled: Compiled, over: str | None, at: datetime) -> None:
        """Replace the version `over`, by parts first, so that no reader finds a head without its parts.

        Raises:
            SaveConflict: somebody else has replaced it.
        """
        head = self._head(is_consistent=True)
        old = [] if head is None else _names_in(head)
        parts = _named(compiled.shards(), old, _next(over))
        if head is None or old != list(parts):
            self._put_parts(parts, old)
            self._put_head(list(parts), over)
            self._retire([name for name in old if name not in parts], at)
        self._client.put_item(TableName=self.table_name, Item={**_REFUSALS, "refused": {"S": compiled.refusals_text()}})

    def _head(self, *, is_consistent: bool) -> Item | None:
        found = self._client.get_item(TableName=self.table_name, Key=_HEAD, ConsistentRead=is_consistent)
        return cast(Item | None, found.get("Item"))

    def _texts(self, names: Sequence[str]) -> tuple[str, ...]:
        found: dict[str, str] = {}
        for first in range(0, len(names), _MOST_KEYS):
            found |= self._some_texts(names[first : first + _MOST_KEYS])
        return tuple(found[name] for name in names)

    def _some_texts(self, names: Sequence[str]) -> dict[str, str]:
        wanted: Any = {self.table_name: {"Keys": [_key(name) for name in names]}}
        found: dict[str, str] = {}
        for _ in range(_MOST_TRIES):  # one answer holds 16 MB
            answer = self._client.batch_get_item(RequestItems=wanted)
            items = cast(list[Item], answer["Responses"].get(self.table_name, []))
            found |= {item["pk"]["S"].partition("#")[2]: _unpacked(item) for item in items}
            wanted = answer.get("UnprocessedKeys")
            if not wanted:
                break
        if len(found) < len(names):
            raise StoreBusy
        return found

    def _put_parts(self, parts: Mapping[str, str], old: Sequence[str]) -> None:
        for name in [one for one in parts if one not in old]:
            packed = zlib.compress(parts[name].encode())
            self._client.put_item(TableName=self.table_name, Item={**_key(name), "tools": {"B": packed}})

    def _put_head(self, names: list[str], over: str | None) -> None:
        shards: Any = {"L": [{"S": name} for name in names]}
        values: dict[str, Any] = {} if over is None else {"ExpressionAttributeValues": {":version": {"N": over}}}
        try:
            self._client.put_item(
                TableName=self.table_name,
                Item={**_HEAD, "version": {"N": _next(over)}, "shards": shards},
                ConditionExpression=_IS_NEW if over is None else _IS_AS_READ,
                **values,
            )
        except ClientError as error:
            if is_failed_condition(error):
                raise SaveConflict from None
            raise

    def _retire(self, names: Sequence[str], at: datetime) -> None:
        for name in names:
            self._client.update_item(
                TableName=self.table_name,
                Key=_key(name),
                UpdateExpression="SET expires_at = :expires",
                ExpressionAttributeValues={":expires": {"N": str(seconds_of(at + _REPLACED_KEPT))}},
            )


def _key(name: str) -> Any:
    # A partition of its own for each part: all instances read them at one time.
    return {"pk": {"S": f"catalog#{name}"}, "sk": {"S": "shard"}}


def _next(version: str | None) -> str:
    return str(int(version or 0) + 1)


def _named(texts: Sequence[str], old: Sequence[str], version: str) -> dict[str, str]:
    """Name each part: as in the old head if that has it, else by its contents and the version that brings it."""
    names = {name.partition("-")[0]: name for name in old}
    digests = {_digest(text): text for text in texts}
    return {names.get(digest, f"{digest}-{version}"): text for digest, text in digests.items()}


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _names_in(head: Item) -> list[str]:
    return [one["S"] for one in head["shards"]["L"]]


def _unpacked(item: Item) -> str:
    packed: Any = item["tools"]["B"]
    return zlib.decompress(bytes(packed)).decode()
