"""Fill a layer. Called by the layers' Makefiles, which `sam build` runs.

    python layers/fill.py FOLDER --wheels requirements.txt
    python layers/fill.py FOLDER --package stepwire --models stepwire/aws/models

The rule: what comes out depends on the lock and the sources alone, and not on the machine, its Python, its pip or the
time; so SAM, which names an artifact by what is in it, uploads only what has changed. Bytecode is therefore left out:
see docs/decisions/0016-the-same-artifacts-everywhere.md.

Layers are filled for Lambda: python3.13 on arm64, whatever this machine is. STEPWIRE_PLATFORM=host fills them for the
Python that runs this, from the same lock; that is for emulators, which run functions on the machine itself.
STEPWIRE_BYTECODE names a Python of the version that will run the layer, and adds its bytecode. That is for those who
build on machines that all have one, because the same commit has another hash without it.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

PYTHON: Final = (3, 13)
# Several, because pip takes the wheels of just the platforms named, and not those made for an older C library.
PLATFORMS: Final = ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64")
FOR_LAMBDA: Final = (
    *("--implementation", "cp", "--python-version", ".".join(map(str, PYTHON))),
    *(word for platform in PLATFORMS for word in ("--platform", platform)),
)
TARGETS: Final[dict[str, tuple[str, ...]]] = {"lambda": FOR_LAMBDA, "host": ()}
IN_LAMBDA: Final = "/opt/python"
# Files in which pip records its installation. RECORD also has hashes of scripts, which name this machine's Python.
NOTES_OF_PIP: Final = ("INSTALLER", "RECORD", "REQUESTED", "direct_url.json")


def install(requirements: Path, folder: Path, target: tuple[str, ...]) -> None:
    """Unpack the locked wheels, and nothing but wheels."""
    command = [
        *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"),
        *("--no-deps", "--require-hashes", "--requirement", str(requirements), "--target", str(folder)),
        *("--only-binary", ":all:", *target),
    ]
    subprocess.run(command, check=True)  # noqa: S603 - the words are the ones above
    leave_out_what_pip_adds(folder)


def leave_out_what_pip_adds(folder: Path) -> None:
    """Remove what pip adds to the wheels: the folder bin, and its notes in *.dist-info."""
    shutil.rmtree(folder / "bin", ignore_errors=True)
    for note in (path for name in NOTES_OF_PIP for path in folder.glob(f"*.dist-info/{name}")):
        note.unlink()


def copy(package: Path, folder: Path) -> None:
    """Copy a package of ours, without what running it here has left behind."""
    shutil.copytree(package, folder / package.name, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)


def add_bytecode(folder: Path, python: str, version: tuple[int, int]) -> None:
    """Compile what is in the layer; the same sources give the same bytes, whatever the machine or the time.

    Raises:
        ValueError: this Python has another version, whose bytecode would never be read.
    """
    asked = [python, "-c", "import sys; print(*sys.version_info[:2])"]
    found = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.split()  # noqa: S603 - our own words
    wanted = [str(number) for number in version]
    if found != wanted:
        raise ValueError(f"{python} is Python {'.'.join(found)}, and the layer runs on {'.'.join(wanted)}")
    # Nothing of the machine is in it: tracebacks name the place in Lambda, and no time of a source is compared.
    places = ("-s", str(folder), "-p", IN_LAMBDA)
    command = [python, "-m", "compileall", "-q", "-f", "--invalidation-mode", "unchecked-hash", *places, str(folder)]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": "0"})  # noqa: S603 - our own words


def main() -> None:
    """Fill the layer."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="the layer's folder python/")
    parser.add_argument("--wheels", type=Path, metavar="LOCK")
    parser.add_argument("--package", type=Path)
    parser.add_argument("--models", type=Path, help="where in the layer the cut models of AWS services go")
    options = parser.parse_args()
    target = os.environ.get("STEPWIRE_PLATFORM", "lambda")
    if target not in TARGETS:
        parser.error(f"STEPWIRE_PLATFORM is {target!r}; it may be {' or '.join(TARGETS)}")
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.wheels:
        install(options.wheels, options.folder, TARGETS[target])
    if options.package:
        copy(options.package, options.folder)
    if options.models:
        from models import cut  # noqa: PLC0415 - beside this script; the other layers need no botocore

        cut(options.folder / options.models)
    if python := os.environ.get("STEPWIRE_BYTECODE"):
        version = PYTHON if target == "lambda" else sys.version_info[:2]
        try:
            add_bytecode(options.folder, python, version)
        except (ValueError, OSError) as error:
            parser.error(f"STEPWIRE_BYTECODE: {error}")


if __name__ == "__main__":
    main()
