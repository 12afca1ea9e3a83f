"""How function catalog publishes what it compiled, in the parts of `published_catalog`, and what its next run needs.

pk "catalog"  sk "refusals"  refused: JSON text, why registered tools are not served, and which wait;
read_at: when the run that wrote it began to read
"""

import hashlib
import zlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, Final

from stepwire.aws.storage.published_catalog import EXTRAS, HEAD, TOOLS, DynamoDbCatalog, files_in, key_of, names_in
from stepwire.aws.storage.table import Item, in_milliseconds, in_seconds
from stepwire.catalog.tools import CompiledTool
from stepwire.errors import SaveConflict
from stepwire.manifests.published import NOTHING_EARLIER, Compiled, Earlier, earlier_in, entries_in

_REFUSALS: Final = {"pk": {"S": "catalog"}, "sk": {"S": "refusals"}}
_IS_AS_READ: Final = "version = :version"
_IS_NEW: Final = "attribute_not_exists(pk)"
_IS_OLDER: Final = "attribute_not_exists(read_at) OR read_at <= :read_at"
_REPLACED_KEPT: Final = timedelta(days=1)


class DynamoDbPublisher(DynamoDbCatalog, frozen=True):
    """The published catalog as who publishes it knows it."""

    def load(self) -> tuple[str | None, Mapping[str, CompiledTool]]:
        """Return the version that is published, if any, and its tools by name."""
        head = self.table.get(HEAD)
        if head is None:
            return None, {}
        entries = [entries_in(text) for text in self.texts(names_in(head))]
        return head["version"]["N"], {name: tool for part in entries for name, tool in part.items()}

    def earlier(self) -> Earlier:
        """Return what the last run left for the next one."""
        item = self.table.get(_REFUSALS)
        return NOTHING_EARLIER if item is None else earlier_in(item["refused"]["S"])

    def publish(self, compiled: Compiled, over: str | None, read_at: datetime, at: datetime) -> None:
        """Replace the version `over`, by parts first, so that no reader finds a head without its parts.

        Raises:
            SaveConflict: somebody else has replaced it, or has published what was read after `read_at`.
        """
        head = self.table.get(HEAD)
        old_files = {} if head is None else files_in(head)
        old = [] if head is None else [*names_in(head), *chain.from_iterable(old_files.values())]
        tools = _named(compiled.shards(), old, _next(over))
        files = {
            name: dict.fromkeys(old_files.get(name, []), "") if texts is None else _named(texts, old, _next(over))
            for name, texts in sorted(compiled.file_shards().items())
        }
        parts = {**tools, **dict(chain.from_iterable(named.items() for named in files.values()))}
        if head is None or old != list(parts):
            for name in [one for one in parts if one not in old]:
                self.table.put({**key_of(name), "tools": {"B": zlib.compress(parts[name].encode())}})
            of_extras = {name: _listed(named) for name, named in files.items()}
            new: Item = {**HEAD, "version": {"N": _next(over)}, TOOLS: _listed(tools), EXTRAS: {"M": of_extras}}
            seen = None if over is None else {":version": {"N": over}}
            if self.table.put(new, _IS_AS_READ if seen else _IS_NEW, seen) is not None:
                raise SaveConflict
            for name in [one for one in old if one not in parts]:
                values = {":expires": in_seconds(at + _REPLACED_KEPT)}
                self.table.update(key_of(name), "SET expires_at = :expires", "", values)
        began = in_milliseconds(read_at)
        left: Item = {**_REFUSALS, "refused": {"S": compiled.refusals_text()}, "read_at": began}
        if self.table.put(left, _IS_OLDER, {":read_at": began}) is not None:
            raise SaveConflict


def _listed(names: Iterable[str]) -> Any:
    return {"L": [{"S": name} for name in names]}


def _next(version: str | None) -> str:
    return str(int(version or 0) + 1)


def _named(texts: Sequence[str], old: Sequence[str], version: str) -> dict[str, str]:
    """Name each part: as in the old head if that has it, else by its contents and the version that brings it."""
    names = {name.partition("-")[0]: name for name in old}
    digests = {_digest(text): text for text in texts}
    return {names.get(digest, f"{digest}-{version}"): text for digest, text in digests.items()}


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
