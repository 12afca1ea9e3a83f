"""Fixtures: a `node` for functions, or none, and stacks of functions in Node.js."""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.npm import NODE


@pytest.fixture(scope="session")
def node() -> Iterator[str]:
    """Let `node` be on PATH: the machine's, or else the one that comes as a Python package."""
    found = shutil.which("node") or (str(NODE) if NODE.is_file() else None)
    if found is None:
        pytest.skip("this machine has no node")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(Path(found).parent), prepend=":")
        yield found


@pytest.fixture
def no_node(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let there be no `node` on PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))


def written(folder: Path, files: Mapping[str, str], functions: Mapping[str, Mapping[str, Any]]) -> Path:
    """Write a template with functions in Node.js, whose code is in `src`, and return its path."""
    common: dict[str, Any] = {"Runtime": "nodejs20.x", "CodeUri": "src", "Timeout": 10}
    resources = {name: function({**common, **own}) for name, own in functions.items()}
    return template(folder, files, resources)


def function(properties: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return the resource of a function."""
    return {"Type": "AWS::Serverless::Function", "Properties": dict(properties), **more}


def template(folder: Path, files: Mapping[str, str], resources: Mapping[str, Any]) -> Path:
    """Write a template and files beside it, and return the template's path."""
    body = {"Transform": "AWS::Serverless-2016-10-31", "Resources": resources}
    for name, text in {"template.json": json.dumps(body), **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder / "template.json"


def logged(output: str, level: str) -> Sequence[str]:
    """Return the messages of a level in what a function has written."""
    lines = (line.split("\t", 3) for line in output.splitlines())
    return [line[3] for line in lines if len(line) == 4 and line[2] == level]
