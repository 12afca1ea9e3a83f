"""Environments of the Python hosts: the named packages are pinned; what these need is pip's to choose."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_INSTALL_SECONDS: Final = 600
_FEW: Final = 300


def install(folder: Path, packages: Sequence[str]) -> str | None:
    """Install packages into an environment of their own, unless they are there; return why that failed, or None."""
    ready, wanted = folder / "ready", "\n".join(packages)
    if ready.exists() and ready.read_text(encoding="utf-8") == wanted:
        return None
    pip = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
    for command in ([sys.executable, "-m", "venv", "--clear", str(folder)], pip):
        try:
            subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=True)
        except subprocess.CalledProcessError as error:
            return f"pip cannot install it: {' '.join(str(error.stderr).split())[-_FEW:]}"
        except (OSError, subprocess.SubprocessError) as error:
            return f"pip cannot install it: {error}"
    ready.write_text(wanted, encoding="utf-8")
    return None
