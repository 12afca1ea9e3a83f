"""Without a `node` on the machine, functions in Node.js are stubs, and a line says why."""

from pathlib import Path

import pytest

from packages.local.tests.lambdas.node.conftest import written
from stepwire_local import FunctionError, LocalStack

FILES = {"src/index.js": "exports.handler = async () => 1;"}
WHY = "the function F cannot run here: its runtime is nodejs20.x, and this machine has no `node` of version 18 or later"


def test_the_start_says_so_and_a_stub_answers(no_node: None, tmp_path: Path) -> None:
    path = written(
        tmp_path, {**FILES, "stubs/G.json": '"stubbed"'}, {name: {"Handler": "index.handler"} for name in "FG"}
    )

    with LocalStack(path) as stack:
        missing = stack.coverage.missing
        with pytest.raises(FunctionError) as caught:
            stack.invoke("F", {})
        stubbed = stack.invoke("G", {})

    assert missing == [f"{WHY}: --stub F=answer.json"]
    assert caught.value.error_type == "Stepwire.NotServedLocally"
    assert stubbed == "stubbed"


@pytest.mark.parametrize("said", ["v16.20.0", "not a version"])
def test_a_node_that_is_too_old_is_none(said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "node"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho {said}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))

    with LocalStack(written(tmp_path, FILES, {"F": {"Handler": "index.handler"}})) as stack:
        assert stack.coverage.missing == [f"{WHY}: --stub F=answer.json"]
