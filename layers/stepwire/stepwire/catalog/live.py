"""The catalog that changes while an instance runs: read where it is needed, and at most once in 30 seconds."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final, Protocol, TypeVar

from msgspec import Struct

from stepwire.catalog.tools import Catalog, Tool, read_catalog
from stepwire.composition import EXTRAS
from stepwire.errors import CatalogError

REREAD_AFTER: Final = timedelta(seconds=30)
_Part = TypeVar("_Part")


class Published(Struct, frozen=True):
    """The registered tools as they were last compiled."""

    version: str
    shards: tuple[str, ...]
    """Texts that `read_catalog` reads."""


class CatalogSource(Protocol):
    """Where compiled tools are published."""

    def read(self, known: str | None) -> Published | None:
        """Return what is published; None if that is still the version `known`."""
        ...


class Reread:
    """Reads what is published when it is asked for, and at most once in 30 seconds.

    Whoever asks meanwhile gets what was read before. A fault of the first read is raised; a later one is reported, and
    what was read before stays.
    """

    def __init__(
        self,
        read: Callable[[str | None], Published | None],
        take: Callable[[Published], None],
        now: Callable[[], datetime],
        report: Callable[[Exception], None],
    ) -> None:
        self.was_read = False
        self._read, self._take, self._now, self._report = read, take, now, report
        self._version: str | None = None
        self._next_look = now()

    def __call__(self) -> None:
        """Read and take what is published, where it is time and there is news."""
        if self.was_read and self._now() < self._next_look:
            return
        self._next_look = self._now() + REREAD_AFTER  # first, for those who ask meanwhile
        try:
            published = self._read(self._version)
            if published is not None:
                self._take(published)
                self._version = published.version
        except Exception as fault:  # what is published is read again after the pause
            if not self.was_read:
                raise
            self._report(fault)
        self.was_read = True

    def parts_of(self, published: Published, parts_in: Callable[[str], Iterable[_Part]]) -> Iterator[_Part]:
        """Yield what is in the shards, without those that another version compiled.

        Function catalog of this version compiles them anew.
        """
        for shard in published.shards:
            try:
                yield from parts_in(shard)
            except CatalogError as fault:
                self._report(fault)


class LiveCatalog(Catalog):
    """The tools that clients may call now: those of the release, and those that owners have registered.

    The rules: the table is asked when tools are listed or called, and at most once in 30 seconds; never by a poll of a
    task. A tool of the release wins over a registered one of its name.
    """

    can_change = True

    def __init__(
        self,
        built_in: Catalog,
        source: CatalogSource,
        now: Callable[[], datetime],
        report: Callable[[Exception], None],
        extras: Collection[str] = EXTRAS,
    ) -> None:
        super().__init__(built_in.in_order)
        self._built_in, self._extras, self._report = built_in, extras, report
        self._reread = Reread(source.read, self._take, now, report)

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools by name, read anew where it is time."""
        self._reread()
        return self._tools

    def known(self, name: str) -> Tool | None:
        """Return the tool of that name as this instance knows it; only the first such question asks the table."""
        return (self._tools if self._reread.was_read else self.tools).get(name)

    def _take(self, published: Published) -> None:
        registered = list[Tool]()
        for tool in self._reread.parts_of(published, lambda shard: read_catalog(shard, {}).in_order):
            if lacking := tool.lacks(self._extras):  # switched off since it was compiled
                self._report(CatalogError(f"{tool.name} is not served without the extras {', '.join(lacking)}"))
            else:
                registered.append(tool)
        self._tools = Catalog({**{tool.name: tool for tool in registered}, **self._built_in.tools}.values()).tools
