"""Write what was measured into docs/performance.md, or another page, between markers that name each part."""

import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tests.cold_start import ROOT

PAGE: Final = ROOT / "docs/performance.md"
PLOTS: Final = ROOT / "docs/assets"


def write_parts(parts: Mapping[str, str], plots: Mapping[str, str], page: Path = PAGE) -> None:
    """Replace parts of the page, by the names of their markers, and write plots, by the names of their files."""
    text = page.read_text(encoding="utf-8")
    for name, part in parts.items():
        text = _replaced(text, name, part, page)
    PLOTS.mkdir(exist_ok=True)
    for name, plot in plots.items():
        (PLOTS / name).write_text(plot, encoding="utf-8")
    page.write_text(text, encoding="utf-8")


def machine(python: str = f"Python {platform.python_version()}") -> str:
    """Name the day, the machine and Python."""
    return f"{datetime.now(UTC):%Y-%m-%d}: {platform.system()} {platform.machine()}, {os.cpu_count()} cores, {python}"


def _replaced(text: str, name: str, part: str, page: Path) -> str:
    """Replace what stands between the markers of that name.

    Raises:
        ValueError: the page has no such markers.
    """
    start, end = f"<!-- {name} -->\n", "<!-- end -->"
    before, found, rest = text.partition(start)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"{page} has no markers for {name!r}")
    return f"{before}{start}{part}{end}{after}"
