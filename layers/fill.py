"""Fill a layer for Lambda (python3.13 on arm64), whatever this machine is. Called by the layers' Makefiles.

    python layers/fill.py FOLDER --wheels requirements.txt
    python layers/fill.py FOLDER --package stepwire

The rule: what comes out depends on the lock and the sources alone. The one exception is bytecode, which only Python
3.13 can make: where this is another, the layer goes without, and says so.
"""

import argparse
import compileall
import shutil
import subprocess
import sys
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Final

PYTHON: Final = (3, 13)
# Several, because pip takes the wheels of just the platforms named, and not those made for an older C library.
PLATFORMS: Final = ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64")


def install(requirements: Path, folder: Path) -> None:
    """Unpack the locked wheels, and nothing but wheels."""
    command = [
        *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"),
        *("--no-deps", "--require-hashes", "--requirement", str(requirements), "--target", str(folder)),
        *("--implementation", "cp", "--python-version", ".".join(map(str, PYTHON)), "--only-binary", ":all:"),
        *(word for platform in PLATFORMS for word in ("--platform", platform)),
    ]
    subprocess.run(command, check=True)  # noqa: S603 - the words are the ones above
    shutil.rmtree(folder / "bin", ignore_errors=True)


def copy(package: Path, folder: Path) -> None:
    """Copy a package of ours, without what running it here has left behind."""
    shutil.copytree(package, folder / package.name, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)


def compile_ahead(folder: Path) -> None:
    """Add bytecode: Lambda could keep none, for it mounts layers read-only, and so would compile at each cold start."""
    if sys.version_info[:2] != PYTHON:
        version = ".".join(map(str, PYTHON))
        sys.stderr.write(f"note: no bytecode without Python {version}; cold starts take some 0.1 s more\n")
        return
    # Unchecked: Lambda's copy has other timestamps. The paths are those of Lambda, as tracebacks show them.
    compileall.compile_dir(
        folder,
        quiet=1,
        stripdir=str(folder),
        prependdir="/opt/python",
        invalidation_mode=PycInvalidationMode.UNCHECKED_HASH,
    )


def main() -> None:
    """Fill the layer."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="the layer's folder python/")
    parser.add_argument("--wheels", type=Path, metavar="LOCK")
    parser.add_argument("--package", type=Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.wheels:
        install(options.wheels, options.folder)
    if options.package:
        copy(options.package, options.folder)
    compile_ahead(options.folder)


if __name__ == "__main__":
    main()
