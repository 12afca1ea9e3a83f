"""How the process of a command ends: nothing follows the command's own last line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1]
# While the command is imported, an object is destroyed that was only half made, as an interrupt may leave one.
HALF_MADE = """
import sys

class Half:
    def __del__(self):
        self.lacking

class Imported:
    def find_spec(self, name, path=None, target=None):
        if name == "stepwire_cli.app":
            Half()

sys.meta_path.insert(0, Imported())
sys.argv = ["stepwire", "--version"]
from stepwire_cli.__main__ import main

main()
"""


@pytest.mark.parametrize(("debug", "is_shown"), [("", False), ("1", True)])
def test_a_destructor_that_fails_is_shown_only_to_who_looks_for_faults(debug: str, is_shown: bool) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", HALF_MADE],
        cwd=FOLDER,
        env={**os.environ, "STEPWIRE_DEBUG": debug},
        capture_output=True,
        text=True,
        check=True,
    )

    assert ran.stdout.count("\n") == 1
    assert ("has no attribute 'lacking'" in ran.stderr, ran.stderr == "") == (is_shown, not is_shown)
