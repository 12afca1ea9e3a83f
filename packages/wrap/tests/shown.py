"""A screen for tests of whatever prints to one."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Shown:
    """A screen that keeps what it is given."""

    as_json: bool = False
    said: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])
    results: list[Any] = field(default_factory=list[Any])

    def say(self, text: str, style: str = "") -> None:
        self.said.append(text)

    def error(self, text: str) -> None:
        self.errors.append(text)

    def result(self, text: str) -> None:
        self.results.append(text)

    def json(self, value: Any) -> None:
        self.results.append(value)

    def table(self, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
        self.results += [tuple(row) for row in rows]
