"""The command in an environment that lacks packages: it works, or names the one that is missing."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")
NEEDS_THE_LAYER = (
    ["wrap", "x"],
    ["doctor", "."],
    ["task", "ID"],
    ["redrive", "ID"],
    ["restart", "ID"],
    ["replay", "live"],
    ["sign-in", "set-up", "live"],
)
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
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT / "command")


def test_what_needs_the_layer_names_it() -> None:
    ran = without("stepwire", *(" ".join(words) for words in NEEDS_THE_LAYER))

    told = "error: This needs the package stepwire too. In the repository: pip install . './command[command]'"
    assert ran.stderr.splitlines() == [told] * len(NEEDS_THE_LAYER)
    assert ran.stdout.split() == ["2"] * len(NEEDS_THE_LAYER)


@pytest.mark.parametrize(
    "package", ["typer", *(pytest.param(name, marks=pytest.mark.long) for name in ("rich", "jsonschema"))]
)
def test_what_the_whole_command_needs_is_named(package: str) -> None:
    ran = without(package, "tools")

    told = f"error: The command needs the package {package}. In the repository: pip install './command[command]'"
    assert (ran.stderr.splitlines(), ran.stdout.split()) == ([told], ["2"])


@pytest.mark.long
def test_each_documented_installation_in_an_empty_environment_does_what_the_page_says(tmp_path: Path) -> None:
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, tmp_path / "venv"], check=True)

    def installed(*packages: str) -> None:
        into = ["--python", str(tmp_path / "venv" / "bin" / "python")]
        subprocess.run([UV, "pip", "install", "--quiet", *into, *packages], check=True, cwd=ROOT)

    def stepwire(*words: str) -> subprocess.CompletedProcess[str]:
        command = [str(tmp_path / "venv" / "bin" / "stepwire"), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    installed("./command")
    bare = stepwire("--help")
    installed("./command[command]")
    version, helped, lacking = stepwire("--version"), stepwire("--help"), stepwire("doctor", ".")
    unreached = stepwire("tools", "http://127.0.0.1:9/mcp")
    installed(".", "./command[command]")
    whole = [stepwire(*words) for words in NEEDS_THE_LAYER]

    assert "needs the package typer" in bare.stderr
    assert (version.returncode, helped.returncode, version.stdout) == (0, 0, "0.1.0\n")
    assert "needs the package stepwire too" in lacking.stderr
    assert "cannot be reached" in unreached.stderr
    assert not [one.stderr for one in whole if "needs the package" in one.stderr or "fault of stepwire" in one.stderr]
