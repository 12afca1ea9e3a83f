"""The tests of a package, with the support that they take from tests/, import only what they may (`__init__.py`).

So they run alone, in the package's folder.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
BELOW: Final = {
    "wrap": {"stepwire", "stepwire_wrap"},
    "local": {"stepwire", "stepwire_wrap", "stepwire_local"},
    "client": {"stepwire", "stepwire_client"},
    "command": {"stepwire", "stepwire_wrap", "stepwire_local", "stepwire_client", "stepwire_cli"},
}
"""What the tests of each package may import of ours."""
FOLDERS: Final = {
    "stepwire_wrap": "wrap",
    "stepwire_local": "local",
    "stepwire_client": "client",
    "stepwire_cli": "command",
}


@cache
def imports(file: Path) -> frozenset[str]:
    """Return the modules that a file imports anywhere, and the names that may be modules."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update((node.module, *(f"{node.module}.{name.name}" for name in node.names)))
    return frozenset(found)


def reached(files: list[Path]) -> set[str]:
    """Return the modules that these files import, themselves or through our tests, tools and benchmarks."""
    seen: set[str] = set()
    while files:
        new = imports(files.pop()) - seen
        seen |= new
        files.extend(_sources(new))
    return seen


def _sources(modules: frozenset[str]) -> Iterator[Path]:
    for module in modules:
        path = ROOT.joinpath(*module.split("."))
        if module.partition(".")[0] in ("tests", "tools", "packages", "benchmarks"):
            yield from (file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file())


def packages_of(modules: set[str]) -> set[str]:
    """Return our packages among modules; the tests of a package count as the package."""
    beside = {name for name, folder in FOLDERS.items() for one in modules if one.startswith(f"packages.{folder}.")}
    return beside | {one for module in modules if (one := module.partition(".")[0]) in ("stepwire", *FOLDERS)}


@pytest.mark.parametrize("package", BELOW)
def test_the_tests_of_a_package_import_what_is_below_it(package: str) -> None:
    modules = reached([*(ROOT / "packages" / package / "tests").rglob("*.py")])

    assert packages_of(modules) - BELOW[package] == set()


def test_each_package_is_known() -> None:
    assert set(BELOW) == {path.name for path in (ROOT / "packages").iterdir() if (path / "pyproject.toml").is_file()}


@pytest.mark.long
@pytest.mark.parametrize("package", BELOW)
def test_all_tests_that_are_found_in_the_folder_of_a_package_are_its_own(package: str) -> None:
    folder = ROOT / "packages" / package

    collecting = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only"], cwd=folder, capture_output=True, text=True, check=False
    )

    tests = [line for line in collecting.stdout.splitlines() if "::" in line]
    assert collecting.returncode == 0, collecting.stdout[-1000:]
    assert tests
    assert [one for one in tests if not one.startswith(f"packages/{package}/tests/")] == []
