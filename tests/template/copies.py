"""Copies of the checkout in which something is missing, and commands that run there with our environments."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from tests.waiting import HANG_GUARD

ROOT: Final = Path(__file__).parents[2]
PYTHON: Final = ".venv/bin/python"
_LEFT_OUT: Final = (
    *(".git", ".venv*", ".aws-sam", ".site", ".stepwire", ".mutants", "node_modules", ".*_cache", ".hypothesis"),
    # What other workers are about to write, and rename. The bytecode itself is copied, because it is as good there.
    *("*.pyc.*", ".*.json.*"),
    # Put together from files of which some may be gone in the copy.
    "stack.yaml",
)
_PACKAGES: Final = ("packages/client", "packages/command", "packages/local", "packages/wrap", "layers/stepwire")


def copy_of_the_checkout(folder: Path, *left_out: str) -> Path:
    """Copy the checkout to a new folder, without what has one of these names."""
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*_LEFT_OUT, *left_out))
    for environment in ROOT.glob(".venv*"):
        (folder / environment.name).symlink_to(environment)
    return folder


def run(copy: Path, *command: str) -> str:
    """Run a command in the copy; return what it says."""
    paths = os.pathsep.join(f"{copy}/{folder}" for folder in _PACKAGES)
    variables = {**os.environ, "PYTHONPATH": paths, "SAM_CLI_TELEMETRY": "0"}
    ended = subprocess.run(
        command, cwd=copy, env=variables, capture_output=True, text=True, timeout=10 * HANG_GUARD, check=False
    )
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-4000:]
    return ended.stdout


def run_tests(copy: Path, *arguments: str) -> str:
    """Run tests in the copy, except those that make copies themselves.

    All run in one process, because each would import again what all of them use.
    """
    others = ("-p", "no:cacheprovider", "--ignore-glob", "*/test_without_*.py")
    return run(copy, PYTHON, "-m", "pytest", "-n", "0", *others, *arguments)


def collect_all_tests(copy: Path) -> None:
    """Import every module of tests in the copy."""
    found = run_tests(copy, "--collect-only", "-q", "-m", "long or not long or deployed")

    assert "error" not in found.splitlines()[-1]
