"""The compiled catalog in the table: parts that never change, and a head that names the parts in force.

    pk "catalog"         sk "head"      version, shards: names of the parts with tools, skills: of those with skills
    pk "catalog#<name>"  sk "shard"     tools: JSON text, compressed; kept for a day after its replacement
    pk "catalog"         sk "refusals"  refused: JSON text, why registered tools are not served, and which wait;
                                        read_at: when the run that wrote it began to read

Skills have parts of their own, because most requests that read the tools read no skill.

Eventually consistent reads suffice, because the parts of an older head stay for a day. The name of a replaced part is
never used again, so a late deletion mark never hits a part in force. No principal is written as "catalog".
"""

import hashlib
import zlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct

from stepwire.aws.storage.table import Item, Table, in_milliseconds, in_seconds
from stepwire.catalog.published import NOTHING_EARLIER, Compiled, Earlier, earlier_in, entries_in
from stepwire.catalog.tools import CompiledTool, Published
from stepwire.errors import SaveConflict, StoreBusy

HEAD: Final = {"pk": {"S": "catalog"}, "sk": {"S": "head"}}
_REFUSALS: Final = {"pk": {"S": "catalog"}, "sk": {"S": "refusals"}}
_TOOLS: Final = "shards"
_SKILLS: Final = "skills"
_IS_AS_READ: Final = "version = :version"
_IS_NEW: Final = "attribute_not_exists(pk)"
_IS_OLDER: Final = "attribute_not_exists(read_at) OR read_at <= :read_at"
_REPLACED_KEPT: Final = timedelta(days=1)


class DynamoDbCatalog(Struct, frozen=True):
    """The published catalog in a DynamoDB table."""

    table: Table
    read_head: Callable[[], Item | None] | None = None
    """Returns the head, which may have been read with something else just now; None: it is read from the table."""

    def read(self, known: str | None) -> Published | None:
        """Return what is published; None if nothing is, or if that is still the version `known`."""
        return self._read(known, _TOOLS)

    def read_skills(self, known: str | None) -> Published | None:
        """Return the published skills; None if nothing is published, or if that is still the version `known`."""
        return self._read(known, _SKILLS)

    def _read(self, known: str | None, parts: str) -> Published | None:
        head = self.table.get(HEAD, is_consistent=False) if self.read_head is None else self.read_head()
        if head is None or head["version"]["N"] == known:
            return None
        return Published(head["version"]["N"], self._texts(_names_in(head, parts)))

    def load(self) -> tuple[str | None, Mapping[str, CompiledTool]]:
        """Return the version that is published, if any, and its tools by name."""
        head = self.table.get(HEAD)
        if head is None:
            return None, {}
        entries = [entries_in(text) for text in self._texts(_names_in(head, _TOOLS))]
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
        old_skills = [] if head is None else _names_in(head, _SKILLS)
        old = [] if head is None else [*_names_in(head, _TOOLS), *old_skills]
        tools, skills = (_named(texts, old, _next(over)) for texts in (compiled.shards(), compiled.skill_shards()))
        skills = dict.fromkeys(old_skills, "") if compiled.skills is None else skills
        parts = {**tools, **skills}
        if head is None or old != list(parts):
            for name in [one for one in parts if one not in old]:
                self.table.put({**_key(name), "tools": {"B": zlib.compress(parts[name].encode())}})
            names = {_TOOLS: tools, _SKILLS: skills}
            listed: Item = {member: {"L": [{"S": name} for name in named]} for member, named in names.items()}
            new: Item = {**HEAD, "version": {"N": _next(over)}, **listed}
            seen = None if over is None else {":version": {"N": over}}
            if self.table.put(new, _IS_AS_READ if seen else _IS_NEW, seen) is not None:
                raise SaveConflict
            for name in [one for one in old if one not in parts]:
                values = {":expires": in_seconds(at + _REPLACED_KEPT)}
                self.table.update(_key(name), "SET expires_at = :expires", "", values)
        began = in_milliseconds(read_at)
        left: Item = {**_REFUSALS, "refused": {"S": compiled.refusals_text()}, "read_at": began}
        if self.table.put(left, _IS_OLDER, {":read_at": began}) is not None:
            raise SaveConflict

    def _texts(self, names: Sequence[str]) -> tuple[str, ...]:
        items = self.table.get_all([_key(name) for name in names], is_consistent=False)
        found = {item["pk"]["S"].partition("#")[2]: _unpacked(item) for item in items}
        if len(found) < len(names):
            raise StoreBusy
        return tuple(found[name] for name in names)


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


def _names_in(head: Item, parts: str) -> list[str]:
    return [one["S"] for one in head[parts]["L"]] if parts in head else []


def _unpacked(item: Item) -> str:
    packed: Any = item["tools"]["B"]
    return zlib.decompress(bytes(packed)).decode()
