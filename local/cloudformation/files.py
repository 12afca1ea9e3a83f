"""What files and folders look like, so that a change is noticed."""

from collections.abc import Iterable
from pathlib import Path
from stat import S_ISREG

# What running and compiling leave behind.
_MADE_HERE = ("__pycache__", "catalog.json", "release_tools.json")


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
