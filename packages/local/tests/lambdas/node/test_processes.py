"""Processes of functions in Node.js: as many as are needed, reused, and none that outlives its stack."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from packages.local.tests.lambdas.node.conftest import function, logged, template, written
from stepwire_local import FunctionError, LocalStack
from stepwire_local.lambdas import functions
from tests.waiting import until

CODE = """
const fs = require("node:fs");
let calls = 0;
exports.counts = async () => ({ calls: ++calls, process: process.pid });
exports.meets = async ({ folder, of }) => {
  fs.writeFileSync(`${folder}/${process.pid}`, "");
  while (fs.readdirSync(folder).length < of) await new Promise((done) => setTimeout(done, 5));
  return process.pid;
};
exports.loops = () => { fs.writeSync(1, `pid ${process.pid}\\n`); for (;;); };
exports.prints = async (event, context) => {
  console.log("one", { two: 2 });
  console.error("wrong");
  process.stdout.write("plain\\n");
  return context.awsRequestId;
};
"""
NAMES = ("counts", "meets", "loops", "prints")
FUNCTIONS = {name.title(): {"Handler": f"app.{name}", "Timeout": 1} for name in NAMES}


def app(folder: Path, code: str = CODE) -> Path:
    return written(folder, {"src/app.js": code}, FUNCTIONS)


def lives(process: int) -> bool:
    """Return whether a process is there and has not ended."""
    try:
        os.kill(process, 0)
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_a_process_is_reused_and_ends_with_the_stack(node: str, tmp_path: Path) -> None:
    with LocalStack(app(tmp_path)) as stack:
        first, second = (stack.invoke("Counts", {}) for _ in range(2))

    assert (first["calls"], second["calls"]) == (1, 2)
    assert first["process"] == second["process"]
    assert not lives(first["process"])


def test_invocations_at_the_same_time_have_a_process_each(node: str, tmp_path: Path) -> None:
    met = tmp_path / "met"
    met.mkdir()

    with LocalStack(app(tmp_path)) as stack, ThreadPoolExecutor() as threads:
        event = {"folder": str(met), "of": 3}
        processes = set(threads.map(stack.invoke, ["Meets"] * 3, [event] * 3))

    assert len(processes) == 3
    assert not any(map(lives, processes))


def test_instances_share_no_memory(node: str, tmp_path: Path) -> None:
    with LocalStack(app(tmp_path), instances=2) as stack:
        assert [stack.invoke("Counts", {})["calls"] for _ in range(4)] == [1, 1, 2, 2]


def test_a_handler_that_takes_too_long_ends_with_its_process(
    node: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(functions, "timeout_scale", 1.0)

    with LocalStack(app(tmp_path)) as stack:
        with pytest.raises(FunctionError) as caught:
            stack.invoke("Loops", {})
        process = int(capsys.readouterr().out.split("pid ")[1].split()[0])
        until(lambda: not lives(process))

    assert caught.value.error_type == "Sandbox.Timedout"
    assert caught.value.message.endswith("Task timed out after 1.00 seconds")


KILLED = """
import os, signal, sys
from stepwire_local import LocalStack

with LocalStack(sys.argv[1]) as stack:
    print("calls", stack.invoke("Counts", {})["process"], flush=True)
    stack.functions["Loops"].start("{}")
    sys.stdin.read()
"""


def test_no_process_outlives_a_stack_that_is_killed(node: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(app(tmp_path))]

    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as stack:
        assert stack.stdout is not None
        lines = {line.split()[0]: int(line.split()[1]) for line in (stack.stdout.readline(), stack.stdout.readline())}
        stack.kill()

    assert lines.keys() == {"calls", "pid"}
    until(lambda: not any(map(lives, lines.values())))


def test_changed_code_runs_from_the_next_call_on(node: str, tmp_path: Path) -> None:
    with LocalStack(app(tmp_path)) as stack:
        before = stack.invoke("Counts", {})
        app(tmp_path, "exports.counts = async () => 'new';")
        changed = stack.update(stack.deployments[0])
        after = stack.invoke("Counts", {})

    assert "Counts" in changed
    assert after == "new"
    assert not lives(before["process"])


def test_what_a_function_writes_is_in_its_log(node: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def output() -> str:
        seen.append(capsys.readouterr().out)
        return "".join(seen)

    seen: list[str] = []
    with LocalStack(app(tmp_path)) as stack:
        request_id = stack.invoke("Prints", {})
        until(lambda: "plain" in output())

    text = "".join(seen)
    assert logged(text, "INFO") == ["one { two: 2 }"]
    assert logged(text, "ERROR") == ["wrong"]
    assert f"\t{request_id}\tINFO\t" in text
    assert "plain" in text.splitlines()


def test_code_finds_the_packages_of_a_layer(node: str, tmp_path: Path) -> None:
    files = {
        "src/common.js": "exports.handler = async () => require('shared');",
        "src/module.mjs": "import shared from 'shared'; export const handler = async () => shared;",
        "layer/nodejs/node_modules/shared/index.js": "module.exports = 'of the layer';",
    }
    layer = {"Type": "AWS::Serverless::LayerVersion", "Properties": {"ContentUri": "layer"}}
    common: dict[str, Any] = {"Runtime": "nodejs20.x", "CodeUri": "src", "Layers": [{"Ref": "Layer"}]}
    both = {name: function({**common, "Handler": f"{name.lower()}.handler"}) for name in ("Common", "Module")}

    with LocalStack(template(tmp_path, files, {"Layer": layer, **both})) as stack:
        assert [stack.invoke(name, {}) for name in both] == ["of the layer", "of the layer"]


def test_a_runtime_that_is_newer_than_node_runs_and_a_line_says_so(node: str, tmp_path: Path) -> None:
    path = written(tmp_path, {"src/app.js": CODE}, {"F": {"Handler": "app.counts", "Runtime": "nodejs98.x"}})

    with LocalStack(path) as stack:
        assert stack.invoke("F", {})["calls"] == 1
        assert any(
            note.startswith("functions for nodejs98.x run on this machine's Node.js ") for note in stack.not_served
        )
