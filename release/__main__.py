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
from functools import cache
from pathlib import Path
from typing import Final

from benchmarks.cost import idle
from release.artifact import PYTHON, About, Idle, make
from stepwire_cli.deployment.parts import extras_of, stack_of, write_stack
from tests.template.chosen import OFF
from tests.template.document import reading

ROOT: Final = Path(__file__).parents[1]
BUILD: Final = ROOT / ".aws-sam/release"
IN_THE_COMMAND: Final = ROOT / "packages/command/stepwire_cli/deployment/release.zip"
"""Where the command's wheel takes its release from."""
OLDEST: Final = "1.0.0"
"""The oldest version from which a stack may be upgraded to this one: docs/upgrades.md."""
CHOICES: Final = (*idle.MOST.items(), *OFF.items())
"""The parameters that change what an idle stack costs."""
SAM: Final = ROOT / ".venv-sam/bin/sam"
PACKAGES: Final = (".", "packages/client", "packages/command", "packages/local", "packages/wrap")
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


@cache
def about() -> About:
    """Return what is said about the release of this commit."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    core = idle_with()
    extras = {name: _rounded(_added(idle_with(name), core)) for name in extras_of(ROOT)}
    return About(version, OLDEST, _rounded(core), extras)


def idle_with(*extras: str) -> Idle:
    """Return what an idle stack costs with these extras alone."""
    whole = stack_of(ROOT, extras)
    with reading(whole):
        least = idle.total()
        more = {
            f"{name}={value}": idle.total(**{name: value}) - least
            for name, value in CHOICES
            if name in whole["Parameters"]
        }
    return Idle(least, more)


def _added(whole: Idle, core: Idle) -> Idle:
    more = {choice: dollars - core.more.get(choice, 0.0) for choice, dollars in whole.more.items()}
    return Idle(whole.dollars - core.dollars, more)


def _rounded(cost: Idle) -> Idle:
    more = {choice: round(one, 2) for choice, one in cost.more.items()}
    return Idle(round(cost.dollars, 2), {choice: one for choice, one in more.items() if one})


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
