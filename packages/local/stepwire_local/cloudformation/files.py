"""Files and folders of code: what they look like, so that a change is noticed, and what archives hold."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from stat import S_ISREG
from zipfile import BadZipFile, ZipFile, is_zipfile

from stepwire_local.errors import TemplateError

# What running, compiling and installing leave behind.
_MADE_HERE = ("__pycache__", "catalog.json", "node_modules", "release_tools.json")


def unpacked(path: Path) -> Path:
    """Return a folder with what a zip archive holds, for as long as this process runs; any other path as it is.

    Raises:
        TemplateError: the archive is broken.
    """
    return _unpacked(path, signature_of([path])) if path.is_file() and is_zipfile(path) else path


@cache
def inline(code: str, name: str) -> Path:
    """Return a folder with code in a file of this name, for as long as this process runs."""
    folder = _temporary()
    (folder / name).write_text(code, encoding="utf-8")
    return folder


def _temporary() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="stepwire-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def _unpacked(archive: Path, _signature: str) -> Path:
    folder = _temporary()
    try:
        with ZipFile(archive) as opened:
            opened.extractall(folder)
    except (BadZipFile, OSError, RuntimeError) as error:
        raise TemplateError(f"{archive} cannot be unpacked: {error}") from error
    return folder


def signature(folder: Path) -> str:
    """Return a text that changes with the names, sizes and times of the files in a folder."""
    found = list[Path]()
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _is_made_here(name))
        found += (Path(at, name) for name in sorted(files) if not _is_made_here(name))
    return signature_of(found)


def signature_of(files: Iterable[Path]) -> str:
    """Return a text that changes with the sizes and times of files; one that is gone counts as another."""
    return "\n".join(filter(None, map(_line, files)))


def _line(path: Path) -> str:
    try:
        found = path.stat()
    except FileNotFoundError:  # since it was listed
        return ""
    return f"{path} {found.st_size} {found.st_mtime_ns}" if S_ISREG(found.st_mode) else ""


def _is_made_here(name: str) -> bool:
    return name in _MADE_HERE or name.startswith(".")
