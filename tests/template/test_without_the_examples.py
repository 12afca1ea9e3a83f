"""The folder examples/ is the adopter's to delete: without it, and its tests, nothing else breaks."""

import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.template.copies import PYTHON, collect_all_tests, copy_of_the_checkout, run, run_tests
from tests.waiting import HANG_GUARD

pytestmark = pytest.mark.long
READ_THE_CHECKOUT: Final = ("tests", "tests/docs", "tests/template", "tests/templates")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout without examples/ and tests/examples/, with our environments."""
    made = copy_of_the_checkout(tmp_path_factory.mktemp("copy") / "project", "examples")
    run(made, PYTHON, "-m", "stepwire_cli.deployment.parts")
    return made


def test_nothing_is_left_of_the_examples_in_the_copy(copy: Path) -> None:
    assert [path for path in copy.rglob("examples") if not path.is_symlink()] == []


def test_every_test_is_collected(copy: Path) -> None:
    collect_all_tests(copy)


def test_every_quick_test_that_reads_the_checkout_passes(copy: Path) -> None:
    found = [path for folder in READ_THE_CHECKOUT for path in sorted((copy / folder).glob("test_*.py"))]
    found = [path for path in found if not path.name.startswith("test_without_")]
    modules = [str(path.relative_to(copy)) for path in found]

    run_tests(copy, *modules)


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
    assert "--template stack.yaml" in planned


def test_the_demo_says_why_it_cannot_run(copy: Path) -> None:
    demo = ["make", "demo", "--old-file=.venv/ready"]
    ended = subprocess.run(demo, cwd=copy, capture_output=True, text=True, timeout=HANG_GUARD, check=False)

    assert ended.returncode != 0
    assert ended.stderr.startswith("The demo runs the workflows of examples/")
