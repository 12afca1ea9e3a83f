"""The catalog of the moment: the tools of this release, and those that their owners have registered.

The rule: the table is asked when tools are listed or called, and at most once in 30 seconds; never by a poll of a task.
A tool of the release wins over a registered one of its name.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final, Protocol

from msgspec import Struct

from stepwire.catalog.tools import Catalog, Tool, read_catalog
from stepwire.errors import CatalogError

REREAD_AFTER: Final = timedelta(seconds=30)


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


class LiveCatalog:
    """The tools that clients may call now. Has the members of `Catalog`."""

    def __init__(
        self,
        built_in: Catalog,
        source: CatalogSource,
        now: Callable[[], datetime],
        report: Callable[[Exception], None],
    ) -> None:
        self._built_in = built_in
        self._source = source
        self._now = now
        self._report = report
        self._catalog: Catalog | None = None
        self._version: str | None = None
        self._next_look = datetime.min.replace(tzinfo=now().tzinfo)

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools by name."""
        return self._current().tools

    @property
    def in_order(self) -> tuple[Tool, ...]:
        """The tools in the order of their names."""
        return self._current().in_order

    def find(self, name: str) -> Tool:
        """Return the tool of that name.

        Raises:
            UnknownTool: there is none.
        """
        return self._current().find(name)

    def known(self, name: str) -> Tool | None:
        """Return the tool of that name as this instance knows it; only the first such question asks the table."""
        return (self._catalog or self._current()).known(name)

    def _current(self) -> Catalog:
        if self._catalog is not None and self._now() < self._next_look:
            return self._catalog
        # First: whoever asks meanwhile gets the tools of before.
        self._next_look = self._now() + REREAD_AFTER
        try:
            self._look()
        except Exception as fault:  # what is published is read again after the pause
            if self._catalog is None:
                raise
            self._report(fault)
        return self._catalog or self._built_in

    def _look(self) -> None:
        published = self._source.read(self._version)
        if published is None:
            self._catalog = self._catalog or self._built_in
            return
        registered = {name: tool for shard in published.shards for name, tool in self._tools_in(shard).items()}
        self._catalog = Catalog(MappingProxyType({**registered, **self._built_in.tools}))
        self._version = published.version

    def _tools_in(self, shard: str) -> Mapping[str, Tool]:
        try:
            return read_catalog(shard, {}).tools
        except CatalogError as fault:  # another version compiled it; function catalog of this one does so anew
            self._report(fault)
            return {}
