"""The registered tools, and the files beside them, as function catalog compiles and publishes them.

Known to the function that compiles and to the one that serves, so it needs neither YAML nor pydantic.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, zip_longest
from typing import Final, Generic, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.json import encode
from msgspec.structs import replace

from stepwire.catalog.tools import CompiledTool, catalog_text, compiled_in
from stepwire.codec import decode
from stepwire.errors import CatalogError

LARGEST_SHARD: Final = 300_000
"""Bytes of JSON in one part of the catalog, unless one tool alone has more. An item has room for 409,600."""
LARGEST_REASON: Final = 500  # characters
LARGEST_REFUSALS: Final = 350_000  # bytes of JSON of all refusals, in one item
MOST_WAITING: Final = 1_000  # names; those beyond come in the order of the alphabet
_One = TypeVar("_One")
Part = TypeVar("Part", bound=Struct)


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


class ToolFile(Struct, frozen=True):
    """A file beside a manifest, as the owner of the tool registered it."""

    tool: str
    path: str
    """What follows the tool's name: a folder, and the path in it."""
    source: str
    """Name of the parameter, or of the file."""
    text: str


class Refusal(Struct, frozen=True, omit_defaults=True):
    """A registered tool whose manifest is not served as it is, or files beside it that are not served."""

    tool: str
    source: str
    """Name of the parameter; of files in a folder, that of the main one."""
    reason: str
    """What is wrong and what would be right, in words for the tool's owner."""
    serves_previous: bool
    """Whether the last good manifest of the tool still serves."""
    digest: str = ""
    """Names the manifest if the fault is its own: it is not read again until it changes, or the schedule comes."""
    what: str = "tool"
    """What is refused, in a word: if it is no tool, its tool serves without it."""


Owners: TypeAlias = Callable[[], Mapping[str, str]]
"""Returns who registered parameters, by their names."""


class Earlier(Struct, frozen=True):
    """What the last run leaves to the next one, beside the tools, and to operators."""

    refused: tuple[Refusal, ...] = ()
    waiting: tuple[str, ...] = ()
    """Names of the tools for which the run had no time, in the order of their turns."""
    left_out: int = 0
    """How many refusals had no room."""


NOTHING_EARLIER: Final = Earlier()


class Checked(Struct, Generic[Part], frozen=True):
    """What is served from now on of the files beside manifests, and what is not."""

    parts: tuple[Part, ...] | None
    """In their stored form. None: there was no time; those that are published stay."""
    refusals: tuple[Refusal, ...] = ()


class Compiled(Struct, frozen=True):
    """The registered tools, by name, and what is served beside them."""

    tools: Mapping[str, CompiledTool]
    refusals: tuple[Refusal, ...] = ()
    waiting: tuple[str, ...] = ()
    """Names of the tools for which there was no time, in the order of their turns."""
    files: Mapping[str, tuple[Struct, ...] | None] = {}
    """What extras serve of the files beside manifests, by their names. None: what is published stays."""

    def shards(self) -> tuple[str, ...]:
        """Return the texts that `read_catalog` reads, each of at most LARGEST_SHARD bytes."""
        return tuple(catalog_text(part) for part in _parts(self.tools[name] for name in sorted(self.tools)))

    def file_shards(self) -> Mapping[str, tuple[str, ...] | None]:
        """Return the texts with what extras serve, by their names: nothing reads them with the tools."""
        return {
            name: None if found is None else tuple(catalog_text((), {name: part}) for part in _parts(found))
            for name, found in self.files.items()
        }

    def refusals_text(self) -> str:
        """Return what waits and the refusals as JSON text that fits one item; what does not fit is counted."""
        waiting, refused = self.waiting[:MOST_WAITING], list[Refusal]()
        size = len(encode(waiting))
        for one in self.refusals:
            short = replace(one, reason=one.reason[:LARGEST_REASON])
            size += len(encode(short)) + 1
            if size > LARGEST_REFUSALS:
                break
            refused.append(short)
        return encode(Earlier(tuple(refused), waiting, len(self.refusals) - len(refused))).decode()


def in_rounds(ones: Iterable[_One], owner_of: Callable[[_One], str]) -> list[_One]:
    """Return the first of each owner, then the second of each, and so on: nobody's many come before another's one."""
    by_owner = dict[str, list[_One]]()
    for one in ones:
        by_owner.setdefault(owner_of(one), []).append(one)
    return [one for one in chain.from_iterable(zip_longest(*by_owner.values())) if one is not None]


def _parts(ones: Iterable[_One]) -> Iterator[list[_One]]:
    part, size = list[_One](), 0
    for one in ones:
        its_size = len(encode(one))
        if part and size + its_size > LARGEST_SHARD:
            yield part
            part, size = [], 0
        part.append(one)
        size += its_size
    if part:
        yield part


def entries_in(shard: str) -> dict[str, CompiledTool]:
    """Read the tools of a shard, by name; empty where another version wrote it."""
    with suppress(CatalogError):
        return {one.tool.name: one for one in compiled_in(shard)}
    return {}


def earlier_in(text: str) -> Earlier:
    """Read what `refusals_text` returned."""
    return decode(text, Earlier)
