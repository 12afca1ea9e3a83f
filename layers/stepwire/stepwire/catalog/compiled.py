"""What the compiler of registered tools publishes: the tools that serve, and why others do not.

Known to the function that compiles and to the one that serves, so it needs neither YAML nor pydantic.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from stepwire.catalog.tools import FORMAT
from stepwire.json_text import JsonObject, as_object, load_json, write

LARGEST_SHARD: Final = 300_000
"""Bytes of JSON in one part of the catalog, unless one tool alone has more. An item has room for 409,600."""
LARGEST_REASON: Final = 500  # characters
LARGEST_REFUSALS: Final = 350_000  # bytes of JSON of all refusals, in one item
MOST_WAITING: Final = 1_000  # names; those beyond come in the order of the alphabet


class Endpoint(Struct, frozen=True):
    """What a registered tool must fit."""

    name: str
    """Name of the stack."""
    machine_prefix: str
    """What the ARNs of its account's and Region's state machines begin with."""
    checks_scopes: bool
    """Whether scopes that a manifest names are checked."""
    roles: tuple[str, ...] = ()
    """ARNs of the roles that manifests may name; one may end in *."""


class Registered(Struct, frozen=True):
    """A tool as its owner registered it."""

    tool: str
    """Last part of the parameter's name."""
    source: str
    """Name of the parameter."""
    text: str
    """The manifest."""


class Refusal(Struct, frozen=True):
    """A registered tool whose manifest is not served as it is."""

    tool: str
    source: str
    """Name of the parameter."""
    reason: str
    """What is wrong and what would be right, in words for the tool's owner."""
    serves_previous: bool
    """Whether the last good manifest of the tool still serves."""
    digest: str = ""
    """Names the manifest if the fault is its own: it is not read again until it changes, or the schedule comes."""


class Earlier(Struct, frozen=True):
    """What the last run leaves to the next one, beside the tools."""

    refusals: tuple[Refusal, ...] = ()
    waiting: tuple[str, ...] = ()
    """Names of the tools for which the run had no time, in the order of their turns."""


NOTHING_EARLIER: Final = Earlier()


class Compiled(Struct, frozen=True):
    """The registered tools, by name, in their compiled form."""

    tools: Mapping[str, JsonObject]
    refusals: tuple[Refusal, ...] = ()
    waiting: tuple[str, ...] = ()
    """Names of the tools for which there was no time, in the order of their turns."""

    def shards(self) -> tuple[str, ...]:
        """Return the texts that `read_catalog` reads, each of at most LARGEST_SHARD bytes."""
        return tuple(write({"format": FORMAT, "tools": part}) for part in self._parts())

    def _parts(self) -> Iterator[list[JsonObject]]:
        part, size = list[JsonObject](), 0
        for name in sorted(self.tools):
            entry_size = len(write(self.tools[name]).encode())
            if part and size + entry_size > LARGEST_SHARD:
                yield part
                part, size = [], 0
            part.append(self.tools[name])
            size += entry_size
        if part:
            yield part

    def refusals_text(self) -> str:
        """Return what waits and the refusals as JSON text that fits one item; what does not fit is counted."""
        waiting = list(self.waiting[:MOST_WAITING])
        told, size = list[JsonObject](), len(write(waiting).encode())
        for one in self.refusals:
            entry: JsonObject = {
                "tool": one.tool,
                "source": one.source,
                "reason": one.reason[:LARGEST_REASON],
                "serves_previous": one.serves_previous,
                **({"digest": one.digest} if one.digest else {}),
            }
            size += len(write(entry).encode()) + 1
            if size > LARGEST_REFUSALS:
                break
            told.append(entry)
        return write({"waiting": waiting, "refused": told, "left_out": len(self.refusals) - len(told)})


def entries_in(shard: str) -> dict[str, JsonObject]:
    """Read the tools of a shard, by name; empty where another version wrote it."""
    document = as_object(load_json(shard))
    tools: list[JsonObject] = document["tools"] if document.get("format") == FORMAT else []
    return {tool["name"]: tool for tool in tools}


def earlier_in(text: str) -> Earlier:
    """Read what `refusals_text` returned."""
    document = as_object(load_json(text))
    refused = [
        Refusal(one["tool"], one["source"], one["reason"], one["serves_previous"], one.get("digest", ""))
        for one in document["refused"]
    ]
    return Earlier(tuple(refused), tuple(document.get("waiting", ())))
