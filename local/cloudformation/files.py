"""What a folder of code looks like, so that a change is noticed."""

from pathlib import Path

# What running and compiling leave behind.
_MADE_HERE = ("__pycache__", "catalog.json")


def signature(folder: Path | None) -> str:
    """Return a text that changes with the names, sizes and times of the files in a folder; empty without a folder."""
    if folder is None:
        return ""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not _is_made_here(path, folder)]
    return "\n".join(f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in files)


def _is_made_here(path: Path, folder: Path) -> bool:
    parts = path.relative_to(folder).parts
    return any(part in _MADE_HERE or part.startswith(".") for part in parts)
