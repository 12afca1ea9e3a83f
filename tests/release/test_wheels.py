"""The wheels of this commit, installed as from an index."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")


@pytest.mark.long
def test_the_wheels_in_an_empty_environment_do_what_the_page_says(tmp_path: Path) -> None:
    """As from an index: the five wheels of this commit, and what they need."""
    # Without the release that a `make release` may have left there.
    command = tmp_path / "command"
    shutil.copytree(ROOT / "packages/command", command, ignore=shutil.ignore_patterns("release.zip", "__pycache__"))
    for folder in (".", "packages/client", "packages/local", "packages/wrap", command):
        build = [UV, "build", "--quiet", "--wheel", "--out-dir", tmp_path / "wheels", folder]
        subprocess.run(build, check=True, cwd=ROOT)
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, tmp_path / "venv"], check=True)
    python = str(tmp_path / "venv" / "bin" / "python")

    def installed(*packages: str) -> None:
        into = [UV, "pip", "install", "--quiet", "--python", python, "--find-links", tmp_path / "wheels", *packages]
        subprocess.run(into, check=True, cwd=tmp_path)

    def ran(command: str, *words: str) -> subprocess.CompletedProcess[str]:
        line = [str(tmp_path / "venv" / "bin" / command), *words]
        return subprocess.run(line, capture_output=True, text=True, check=False, cwd=tmp_path)

    installed("stepwire-client")
    client = subprocess.run([python, "-c", "import stepwire_client"], check=False)
    installed("stepwire-wrap")
    alone, found = (
        ran("stepwire-wrap", str(ROOT / "tests" / "adopter"), "--output", "made"),
        ran("stepwire-wrap", "doctor", "made"),
    )
    installed("stepwire")
    version, helped, deploy = ran("stepwire", "--version"), ran("stepwire", "--help"), ran("stepwire", "deploy")
    unreached = ran("stepwire", "tools", "http://127.0.0.1:9/mcp")
    wrapped = ran("stepwire", "wrap", str(ROOT / "tests" / "adopter"))
    installed("stepwire-local")
    local = ran("stepwire-local", "--help")

    assert client.returncode == 0
    assert (alone.returncode, found.returncode) == (0, 1), alone.stderr + found.stderr
    assert "it has no description" in found.stdout
    assert (version.returncode, helped.returncode, version.stdout) == (0, 0, "1.0.0\n")
    assert "carries no release" in deploy.stderr
    assert "cannot be reached" in unreached.stderr
    assert wrapped.returncode == 0, wrapped.stderr
    assert local.returncode == 0
