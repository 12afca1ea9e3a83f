"""Programs that use released clients, each in an environment of its own with nothing of ours.

A program gets the endpoint's URL and, on its standard input, a plan; it prints what its client has seen, as JSON.
"""

import json
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from tests.npm import install, node
from tests.waiting import HANG_GUARD

Json = dict[str, Any]
_ROOT: Final = Path(__file__).parents[2]
LEGACY_PYTHON: Final = _ROOT / ".venv-legacy" / "bin" / "python"
"""The Python with `mcp` 1.30."""
FASTMCP: Final = _ROOT / ".venv-fastmcp"
"""The environment with fastmcp 4.1, which only `make test ALL=1` sets up."""
FASTMCP_PYTHON: Final = FASTMCP / "bin" / "python"
needs_fastmcp = pytest.mark.skipif(
    not (FASTMCP / "ready").exists(), reason=f"{FASTMCP.name} is missing: run `make {FASTMCP.name}/ready`"
)
FOLDER: Final = Path(__file__).parent / "node"
"""The TypeScript clients, and the programs that use them."""


def in_python(python: Path, program: Path, url: str, plan: Json) -> Json:
    """Run a program with the Python of another environment; return what its client has seen."""
    environment = python.parents[1].name
    assert python.exists(), f"{environment} is missing: run `make {environment}/ready`"
    command = [str(python), str(program), url]
    return _read(
        subprocess.run(command, input=json.dumps(plan), capture_output=True, text=True, timeout=HANG_GUARD, check=False)
    )


def in_node(program: str, *arguments: str, plan: Json | None = None) -> Json:
    """Install the TypeScript clients, unless they are, and run a program; return what its client has seen."""
    install(FOLDER)
    return _read(node(FOLDER, [program, *arguments], HANG_GUARD, json.dumps(plan)))


def _read(ended: subprocess.CompletedProcess[str]) -> Json:
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)
