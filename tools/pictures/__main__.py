"""Make the pictures of docs/assets that show the card, the console and Claude Code: `make screenshots`.

What cannot run on this machine is skipped with a word, and its pictures stay as they are. Exit code 0; 1 if a picture
could not be made.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from stepwire_local.terminal.leaving import leave
from tests.browser.chromium import chromium
from tests.npm import install
from tools.hosts.hosts import HOSTS, PACKAGES
from tools.pictures import pages, terminal

ASSETS: Final = Path(__file__).parents[2] / "docs" / "assets"
MOST_KILOBYTES: Final = 200


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="make screenshots", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", choices=sorted(MAKERS), help="make only these pictures")
    only = parser.parse_args(arguments).only
    failed = False
    for name, make in MAKERS.items():
        if only not in (None, name):
            continue
        try:
            print(f"{name}: {make()}", flush=True)
        except (AssertionError, OSError, subprocess.SubprocessError, terminal.NotShown) as error:
            failed = True
            print(f"{name}: not made: {error}", file=sys.stderr)
    return int(failed)


def _pages() -> str:
    if chromium() is None:
        return "skipped: no Chromium on this machine; run `make browser`"
    return _told(pages.make(ASSETS))


def _claude() -> str:
    if why := terminal.missing():
        return f"skipped: {why}"
    if HOSTS[0].program is None:
        install(PACKAGES)
    return _told(terminal.make(HOSTS[0], ASSETS))


def _told(paths: Sequence[Path]) -> str:
    large = [path.name for path in paths if path.stat().st_size > MOST_KILOBYTES * 1024]
    assert not large, f"larger than {MOST_KILOBYTES} kB: {', '.join(large)}"
    return ", ".join(f"{path.name} ({path.stat().st_size // 1024} kB)" for path in paths)


MAKERS: Final[Mapping[str, Callable[[], str]]] = {"console": _pages, "claude-code": _claude}

if __name__ == "__main__":
    leave(main())
