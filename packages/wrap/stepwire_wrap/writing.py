"""Write files so that nothing is left half done.

The rule: whatever ends it, no part of a new file stays, and what was there before is as it was.
"""

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Final

_NOTHING: Final[Mapping[Path, bytes]] = MappingProxyType({})


def write_new(files: Mapping[Path, bytes], changed: Mapping[Path, bytes] = _NOTHING) -> None:
    """Write all files, with the folders that they need, and the new contents of others; or nothing.

    Raises:
        OSError: one cannot be written, or one of `files` is there already.
    """
    made = list[Path]()
    try:
        for path, content in files.items():
            _make(path, content, made)
        ready = {path.resolve(): _beside(path.resolve(), content, made) for path, content in changed.items()}
        for path, new in ready.items():
            new.replace(path)
    except BaseException:
        _remove(made)
        raise


def reason(error: OSError) -> str:
    """Return why a file cannot be written, in words."""
    return (error.strerror or type(error).__name__).lower()


def _make(path: Path, content: bytes, made: list[Path]) -> None:
    """Write a file; `made` gets it and the folders that were made for it, however much of it is written."""
    for folder in [one for one in path.parents if not one.exists()][::-1]:
        folder.mkdir()
        made.append(folder)
    with path.open("xb") as file:
        made.append(path)
        file.write(content)


def _beside(path: Path, content: bytes, made: list[Path]) -> Path:
    """Return a file beside another, with its permissions, that can take its place."""
    path.open("r+b").close()  # who may not write it may perhaps replace it
    new = path.with_name(f".{path.name}.{os.getpid()}")
    _make(new, content, made)
    shutil.copymode(path, new)
    return new


def _remove(made: list[Path]) -> None:
    """Remove what was made, as far as it is there and can be removed: why it must be removed matters more."""
    for one in reversed(made):
        with suppress(OSError):
            if one.is_dir():
                one.rmdir()
            else:
                one.unlink()
