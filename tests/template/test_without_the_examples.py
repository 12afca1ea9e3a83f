"""The folder examples/ is the adopter's to delete: without it, and its tests, nothing else breaks."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.waiting import HANG_GUARD

pytestmark = pytest.mark.long
ROOT: Final = Path(__file__).parents[2]
LEFT_OUT: Final = (
    *(".git", ".venv*", ".aws-sam", ".site", ".stepwire", "node_modules", ".*_cache", ".hypothesis"),
    # What other workers are about to write, and rename. The bytecode itself is copied, because it is as good there.
    *("*.pyc.*", ".*.json.*"),
)
READ_THE_CHECKOUT: Final = ("tests", "tests/docs", "tests/template", "tests/templates")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout without examples/ and tests/examples/, with our environments."""
    made = tmp_path_factory.mktemp("copy") / "project"
    shutil.copytree(ROOT, made, ignore=shutil.ignore_patterns(*LEFT_OUT, "examples"))
    for environment in ROOT.glob(".venv*"):
        (made / environment.name).symlink_to(environment)
    return made


def run(copy: Path, *command: str) -> str:
    """Run a command in the copy; return what it says."""
    folders = ("packages/client", "packages/command", "packages/local", "layers/stepwire")
    paths = os.pathsep.join(f"{copy}/{folder}" for folder in folders)
    variables = {**os.environ, "PYTHONPATH": paths, "SAM_CLI_TELEMETRY": "0"}
    ended = subprocess.run(
        command, cwd=copy, env=variables, capture_output=True, text=True, timeout=10 * HANG_GUARD, check=False
    )
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-4000:]
    return ended.stdout


def test_nothing_is_left_of_the_examples_in_the_copy(copy: Path) -> None:
    assert [path for path in copy.rglob("examples") if not path.is_symlink()] == []


def test_every_test_is_collected(copy: Path) -> None:
    found = run(copy, ".venv/bin/python", "-m", "pytest", "--collect-only", "-q", "-m", "long or not long or deployed")

    assert "error" not in found.splitlines()[-1]


# Of all folders at once, because each run would import again what all of them use: ten seconds.
def test_every_quick_test_that_reads_the_checkout_passes(copy: Path) -> None:
    found = [path for folder in READ_THE_CHECKOUT for path in sorted((copy / folder).glob("test_*.py"))]
    modules = [str(path.relative_to(copy)) for path in found]

    run(copy, ".venv/bin/python", "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", *modules)


def test_the_checks_of_style_imports_and_templates_pass(copy: Path) -> None:
    planned = run(copy, "make", "--dry-run", "check")
    (lint,) = re.findall(r"^\.venv/bin/cfn-lint (.+)$", planned, re.MULTILINE)

    assert "examples" not in planned
    run(copy, ".venv/bin/ruff", "check", ".")
    run(copy, ".venv/bin/lint-imports", "--no-logo")
    run(copy, ".venv/bin/python", "-m", "stepwire.manifests.reading", "functions/mcp/tools")
    run(copy, ".venv/bin/cfn-lint", *lint.split())


def test_the_local_stack_is_run_without_them(copy: Path) -> None:
    planned = run(copy, "make", "--dry-run", "run")

    assert "examples" not in planned
    assert "--template template.yaml" in planned


def test_the_demo_says_why_it_cannot_run(copy: Path) -> None:
    demo = ["make", "demo", "--old-file=.venv/ready"]
    ended = subprocess.run(demo, cwd=copy, capture_output=True, text=True, timeout=HANG_GUARD, check=False)

    assert ended.returncode != 0
    assert ended.stderr.startswith("The demo runs the workflows of examples/")
