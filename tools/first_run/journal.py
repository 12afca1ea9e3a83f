"""What the run makes, written down before it is made, so that another run can remove it.

The rule: a line is on the disk before AWS is asked, and no line is ever changed. So the file may name what was never
made, and never lacks what was.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Made:
    """Something in the account."""

    kind: str
    """A key of `removal.REMOVERS`."""
    name: str


@dataclass(frozen=True)
class Journal:
    """The file of one run."""

    path: Path

    def begin(self, prefix: str, account: str, region: str) -> None:
        """Write the first line: whose names these are, and where."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._write({"prefix": prefix, "account": account, "region": region})

    @property
    def head(self) -> dict[str, str]:
        """The first line: `prefix`, `account` and `region`."""
        return next(self._lines())

    def will_make(self, kind: str, name: str) -> None:
        """Write down what is about to be made, once."""
        if Made(kind, name) not in self.left():
            self._write({"made": asdict(Made(kind, name))})

    def removed(self, made: Made) -> None:
        """Write down that something is gone."""
        self._write({"removed": asdict(made)})

    def left(self) -> list[Made]:
        """Return what is not known to be gone, the newest first: in the order in which it is removed."""
        found = list[Made]()
        for line in self._lines():
            if "made" in line:
                found.append(Made(**line["made"]))
            if "removed" in line:
                found.remove(Made(**line["removed"]))
        return found[::-1]

    def _lines(self) -> Iterator[dict[str, Any]]:
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                yield json.loads(line)
            except ValueError:  # the last line of a run that was killed while it wrote: nothing was made after it
                return

    def _write(self, line: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(line)}\n")
            file.flush()
            os.fsync(file.fileno())
