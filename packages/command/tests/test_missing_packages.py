"""The command in an environment that lacks packages: it works, or names the one that is missing."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
NEEDS = {
    "typer": "tools",
    "rich": "tools",
    "jsonschema": "tools",
    "jsonata": f"wrap {ROOT}/tests/adopter",
    "stepwire": "doctor .",
}
"""A command line that needs each package."""
# Runs several command lines in a process that cannot import one package.
WITHOUT = """
import sys

_, package, *lines = sys.argv

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
from stepwire_cli.__main__ import main

for words in lines:
    sys.argv = ["stepwire", *words.split()]
    try:
        main()
    except SystemExit as end:
        print(end.code)
"""


def without(package: str, *lines: str) -> subprocess.CompletedProcess[str]:
    """Run command lines without a package."""
    command = [sys.executable, "-c", WITHOUT, package, *lines]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT / "packages/command")


@pytest.mark.parametrize(
    ("package", "installs"),
    [
        ("typer", "stepwire"),
        *(
            pytest.param(name, "stepwire", marks=pytest.mark.long)
            for name in ("rich", "jsonata", "jsonschema", "stepwire")
        ),
    ],
)
def test_what_is_missing_is_named_with_what_installs_it(package: str, installs: str) -> None:
    ran = without(package, NEEDS[package])

    told = f"error: This needs the package {package}. Install it with: pip install '{installs}'"
    assert (ran.stderr.splitlines(), ran.stdout.split()) == ([told], ["2"])
