"""Files and folders of code: what they look like, so that a change is noticed, and what archives hold."""

import atexit
import shutil
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from stat import S_ISREG
from zipfile import BadZipFile, ZipFile, is_zipfile

from stepwire_local.errors import TemplateError

# What running and compiling leave behind.
_MADE_HERE = ("__pycache__", "catalog.json", "release_tools.json")


def unpacked(path: Path) -> Path:
    """Return a folder with what a zip archive holds, for as long as this process runs; any other path as it is.

    Raises:
        TemplateError: the archive is broken.
    """
    return _unpacked(path, signature_of([path])) if path.is_file() and is_zipfile(path) else path


@cache
def inline(code: str) -> Path:
    """Return a folder with `index.py`, as Lambda names code in a template, for as long as this process runs."""
    folder = _temporary()
    (folder / "index.py").write_text(code, encoding="utf-8")
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
    return signature_of([path for path in sorted(folder.rglob("*")) if not _is_made_here(path, folder)])


def signature_of(files: Iterable[Path]) -> str:
    """Return a text that changes with the sizes and times of files; one that is gone counts as another."""
    return "\n".join(filter(None, map(_line, files)))


def _line(path: Path) -> str:
    try:
        found = path.stat()
    except FileNotFoundError:  # since it was listed
        return ""
    return f"{path} {found.st_size} {found.st_mtime_ns}" if S_ISREG(found.st_mode) else ""


def _is_made_here(path: Path, folder: Path) -> bool:
    parts = path.relative_to(folder).parts
    return any(part in _MADE_HERE or part.startswith(".") for part in parts)
