"""The files of a folder, without those that tools have put there."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_SKIPPED: Final = frozenset({"node_modules", "__pycache__", "site-packages", "venv"})
_MOST: Final = 20_000  # files


def walked(folder: Path, *, but: frozenset[str] = frozenset()) -> Iterator[Path]:
    """Yield the files of a folder and of the folders in it, in order, without hidden folders and those named `but`."""
    number = 0
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith(".") and one not in _SKIPPED | but)
        for name in sorted(files):
            number += 1
            if number > _MOST:
                return
            yield Path(place) / name
