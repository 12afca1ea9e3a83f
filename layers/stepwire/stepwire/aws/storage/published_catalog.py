"""The compiled catalog in the table: parts that never change, and a head that names the parts in force.

    pk "catalog"         sk "head"      version, shards: names of the parts with tools, extras: by the name of an
                                        extra, of those with what it serves beside them
    pk "catalog#<name>"  sk "shard"     tools: JSON text, compressed; kept for a day after its replacement

What an extra serves beside the tools has parts of its own, because most requests that read the tools read none of it.

Eventually consistent reads suffice, because the parts of an older head stay for a day. The name of a replaced part is
never used again, so a late deletion mark never hits a part in force. No principal is written as "catalog".
"""

import zlib
from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec import Struct

from stepwire.aws.storage.table import Item, Table
from stepwire.catalog.live import Published
from stepwire.errors import StoreBusy

HEAD: Final = {"pk": {"S": "catalog"}, "sk": {"S": "head"}}
TOOLS: Final = "shards"
EXTRAS: Final = "extras"


class DynamoDbCatalog(Struct, frozen=True):
    """The published catalog in a DynamoDB table."""

    table: Table

    def read(self, known: str | None) -> Published | None:
        """Return what is published; None if nothing is, or if that is still the version `known`."""
        return self._read(known, names_in)

    def read_files(self, extra: str, known: str | None) -> Published | None:
        """Return what an extra serves beside the tools; None if nothing is, or if that is still the version `known`."""
        return self._read(known, lambda head: files_in(head).get(extra, []))

    def _read(self, known: str | None, names: Callable[[Item], list[str]]) -> Published | None:
        head = self.table.get(HEAD, is_consistent=False)
        if head is None or head["version"]["N"] == known:
            return None
        return Published(head["version"]["N"], self.texts(names(head)))

    def texts(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the texts of parts."""
        items = self.table.get_all([key_of(name) for name in names], is_consistent=False)
        found = {item["pk"]["S"].partition("#")[2]: unpacked(item) for item in items}
        if len(found) < len(names):
            raise StoreBusy
        return tuple(found[name] for name in names)


def key_of(name: str) -> Any:
    """Return the key of the item of a part."""
    # A partition of its own for each part: all instances read them at one time.
    return {"pk": {"S": f"catalog#{name}"}, "sk": {"S": "shard"}}


def names_in(head: Item) -> list[str]:
    """Return the names of the parts with tools."""
    return [one["S"] for one in head[TOOLS]["L"]]


def files_in(head: Item) -> dict[str, list[str]]:
    """Return the names of the parts with what extras serve beside the tools, by the extras' names, in their order."""
    return {name: [one["S"] for one in part["L"]] for name, part in sorted(head[EXTRAS]["M"].items())}


def unpacked(item: Item) -> str:
    """Return the text of a part."""
    packed: Any = item["tools"]["B"]
    return zlib.decompress(bytes(packed)).decode()
