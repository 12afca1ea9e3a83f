"""The stubs of one template: those of the command line, and the files in the folder `stubs` beside it.

The rules: a name of the command line wins over a file of the folder; two of either are an error. Files of the folder
that are neither .json nor .py, or whose name begins with `_` or `.`, are no stubs. What cannot be read changes nothing.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from stepwire_local.errors import StubError
from stepwire_local.stubs.names import key
from stepwire_local.stubs.replies import BadReply, Outcome, Reply, Unusable, read_reply
from stepwire_local.stubs.scripts import Scripts, check_script

FOLDER: Final = "stubs"
_SUFFIXES: Final = (".json", ".py")
_LOOK: Final = 0.5  # seconds between two looks at whether somebody still waits

Given = Sequence[tuple[str, str | Path]]


@dataclass(frozen=True)
class Stub:
    """One stub, read."""

    name: str
    path: Path
    text: str
    reply: Reply | None
    """None: the file is a script, which makes it."""


@dataclass(frozen=True)
class Call:
    """What a stub is asked."""

    given: Any
    """The input: JSON."""
    context: Mapping[str, Any]
    """What else a script may want to know."""
    is_awaited: Callable[[], bool] = lambda: True
    """Whether somebody still waits for the reply."""


class Book:
    """Finds and asks the stubs of a template.

    Args:
        given: Names and files of the command line.
        folder: The folder of the template.
        endpoint: The name of the endpoint's stack, which may start what a stub stands for.
        scripts: What runs scripts.
    """

    def __init__(
        self, given: Given = (), folder: Path | None = None, endpoint: str = "", scripts: Scripts | None = None
    ) -> None:
        self._given = [(name, Path(path)) for name, path in given]
        self._folder = folder / FOLDER if folder is not None else None
        self.endpoint = endpoint
        self._scripts = scripts or Scripts()
        self._stubs: Mapping[str, Stub] = {}

    @property
    def folder(self) -> Path | None:
        """Return the folder of stubs beside the template, which may not be there."""
        return self._folder

    def read(self) -> list[str]:
        """Read all files anew; return the names whose stubs differ from those before.

        Raises:
            StubError: one cannot be used. What was read before stays.
        """
        found = {**_read_all(self._in_folder()), **_read_all(self._given)}
        before, self._stubs = self._stubs, found
        changed = [one for name, one in found.items() if before.get(name) != one]
        return [one.name for one in (*changed, *(one for name, one in before.items() if name not in found))]

    def signature(self) -> tuple[object, ...]:
        """Return what changes with the files."""
        paths = [path for _, path in (*self._given, *self._in_folder())]
        return tuple((path, *_times(path)) for path in paths)

    def all(self) -> Sequence[Stub]:
        """Return all stubs."""
        return tuple(self._stubs.values())

    def find(self, names: Iterable[str]) -> Stub | None:
        """Return the stub of the first name that has one."""
        return next((self._stubs[key(name)] for name in names if key(name) in self._stubs), None)

    def ask(self, stub: Stub, call: Call) -> Outcome:
        """Return what a stub replies, after its delay."""
        reply = stub.reply or self._scripts.run(stub.path, call.given, call.context)
        if isinstance(reply, Unusable):
            return reply
        until = time.monotonic() + reply.delay
        while (left := until - time.monotonic()) > 0 and call.is_awaited():
            if self._scripts.closed.wait(min(left, _LOOK)):
                break
        return reply.outcome

    def _in_folder(self) -> list[tuple[str, Path]]:
        if self._folder is None or not self._folder.is_dir():
            return []
        files = [path for path in sorted(self._folder.rglob("*")) if path.suffix in _SUFFIXES and path.is_file()]
        named = [(path.relative_to(self._folder), path) for path in files]
        return [
            (str(name.with_suffix("")), path)
            for name, path in named
            if not any(part.startswith(("_", ".")) for part in name.parts)
        ]


def _read_all(named: Iterable[tuple[str, Path]]) -> dict[str, Stub]:
    found: dict[str, Stub] = {}
    for name, path in named:
        if not key(name):
            raise StubError(f"{name}={path}: the name of what it stands for is missing.")
        if other := found.get(key(name)):
            raise StubError(f"{name} has two stubs, {other.path} and {path}: keep one.")
        found[key(name)] = _read(name, path)
    return found


def _read(name: str, path: Path) -> Stub:
    """Read a file. Check that it 1. is of a known kind, 2. is there, and 3. can be used."""
    if path.suffix not in _SUFFIXES:
        raise StubError(f"{path}: a stub is a .json file with an answer, or a .py script that makes one.")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise StubError(f"{path}, the stub of {name}, does not exist.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise StubError(f"{path} cannot be read: {error}") from error
    if path.suffix == ".py":
        check_script(path, text)
        return Stub(name, path.resolve(), text, None)
    return Stub(name, path, text, _reply(path, text))


def _reply(path: Path, text: str) -> Reply:
    try:
        return read_reply(json.loads(text, parse_constant=_refuse))
    except json.JSONDecodeError as error:
        raise StubError(f"{path}, line {error.lineno}, column {error.colno}: not JSON: {error.msg}.") from None
    except (BadReply, ValueError, RecursionError) as error:
        raise StubError(f"{path}: {error}.") from None


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")


def _times(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_size, found.st_mtime_ns
