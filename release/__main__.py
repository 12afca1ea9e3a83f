"""`make release`: build the artifact of this commit, and the packages of the index, into dist/.

Where no Python 3.13 is found, the layers have no bytecode: everything works, and each cold start compiles what it
imports. The command says so and goes on, as whoever tries a release out needs none.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

from benchmarks.cost import idle
from release.artifact import PYTHON, About, make
from stepwire_cli.deployment.parts import write_stack
from tests.template.chosen import OFF

ROOT: Final = Path(__file__).parents[1]
BUILD: Final = ROOT / ".aws-sam/release"
IN_THE_COMMAND: Final = ROOT / "packages/command/stepwire_cli/deployment/release.zip"
"""Where the command's wheel takes its release from."""
OLDEST: Final = "1.0.0"
"""The oldest version from which a stack may be upgraded to this one: docs/upgrades.md."""
CHOICES: Final = (*idle.MOST.items(), *OFF.items())
"""The parameters that change what an idle stack costs."""
SAM: Final = ROOT / ".venv-sam/bin/sam"
PACKAGES: Final = (".", "packages/client", "packages/command", "packages/local")
_OF_MAKE: Final = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")  # would affect the makefiles that `sam build` runs
_WITHOUT_BYTECODE: Final = (
    f"Python {PYTHON} was not found, so the layers have no bytecode, and a cold start takes longer: see "
    f"docs/performance.md. Install Python {PYTHON}, or name one: STEPWIRE_BYTECODE=/path/to/python{PYTHON} make release"
)


def main() -> int:
    """Build, and say what was made."""
    parser = argparse.ArgumentParser(prog="make release", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="the folder to write to (dist)")
    options = parser.parse_args()
    python = os.environ.get("STEPWIRE_BYTECODE") or found_python()
    if python is None:
        print(_WITHOUT_BYTECODE, file=sys.stderr)
    if (code := build(python)) != 0:
        return code
    made = make(BUILD, ROOT, options.output, about())
    shutil.copyfile(made.file, IN_THE_COMMAND)
    for package in PACKAGES:
        if (code := build_package(ROOT / package, options.output)) != 0:
            return code
    print(f"{made.digest}  {made.file.relative_to(Path.cwd()) if made.file.is_relative_to(Path.cwd()) else made.file}")
    return 0


def about() -> About:
    """Return what is said about the release of this commit."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    least = idle.total()
    more = {f"{name}={value}": round(idle.total(**{name: value}) - least, 2) for name, value in CHOICES}
    return About(version, OLDEST, round(least, 2), {choice: dollars for choice, dollars in more.items() if dollars})


def found_python() -> str | None:
    """Return the functions' Python, wherever uv finds it on this machine; nothing is fetched."""
    command = [sys.executable, "-m", "uv", "python", "find", "--offline", "--no-project", PYTHON]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT.parent)  # noqa: S603 - our own words
    return found.stdout.strip() or None if found.returncode == 0 else None


def build_package(folder: Path, target: Path) -> int:
    """Build the wheel and the source distribution of a package, and return the exit code."""
    # The wheel from the folder and not from the sdist: hatchling gives both fixed times.
    command = [
        sys.executable,
        "-m",
        "uv",
        "build",
        "--quiet",
        "--sdist",
        "--wheel",
        "--out-dir",
        str(target),
        str(folder),
    ]
    return subprocess.run(command, check=False).returncode  # noqa: S603 - our own words


def build(python: str | None) -> int:
    """Run `sam build`, and return its exit code; what it says is shown if it fails."""
    shutil.rmtree(BUILD, ignore_errors=True)
    environment = {name: value for name, value in os.environ.items() if name not in _OF_MAKE}
    environment |= {"SAM_CLI_TELEMETRY": "0", **({"STEPWIRE_BYTECODE": python} if python else {})}
    write_stack(ROOT, ROOT / "stack.yaml")
    command = [str(SAM), "build", "--template", "stack.yaml", "--build-dir", str(BUILD), "--parallel"]
    ended = subprocess.run(  # noqa: S603 - our own words
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if ended.returncode:
        sys.stderr.write(ended.stdout)
    return ended.returncode


if __name__ == "__main__":
    sys.exit(main())
