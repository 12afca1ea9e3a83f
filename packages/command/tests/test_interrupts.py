"""Ctrl-C while a call is on its way: nothing is lost. The server says when the call has come, so nothing races."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from packages.command.tests.aws import CREDENTIALS, Aws, aws_at
from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire_cli.__main__ import in_front
from stepwire_cli.app import run
from stepwire_cli.exits import Exit
from tests.clients.endpoint import Endpoint, serving
from tests.waiting import HANG_GUARD

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "packages/command"


@dataclass
class Slow:
    """A server that keeps the answer to a call until it is let go."""

    endpoint: Endpoint = field(default_factory=Endpoint)
    has_come: Event = field(default_factory=Event)
    may_go: Event = field(default_factory=Event)

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request."""
        response = self.endpoint.handle(request)
        if b'"tools/call"' in request.body:
            self.has_come.set()
            assert self.may_go.wait(HANG_GUARD)
        return response


@pytest.fixture
def slow() -> Slow:
    """The server."""
    return Slow()


@pytest.fixture
def process(slow: Slow) -> Iterator[subprocess.Popen[str]]:
    """A call whose task has begun, and whose answer has not come."""
    with serving(slow.handle) as url:
        command = [sys.executable, "-m", "stepwire_cli", "--url", url, "--auth", "none", "call", "endless", "text=hi"]
        process = subprocess.Popen(command, cwd=FOLDER, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        assert slow.has_come.wait(HANG_GUARD)
        os.kill(process.pid, signal.SIGINT)
        assert process.stderr is not None
        assert (
            process.stderr.readline() == "Waiting for the task's id, so that nothing is lost. Ctrl-C again gives up.\n"
        )
        yield process
        slow.may_go.set()
        process.kill()
        process.communicate()


def test_the_answer_is_waited_for_and_the_id_is_printed(slow: Slow, process: subprocess.Popen[str]) -> None:
    slow.may_go.set()

    _, said = process.communicate(timeout=HANG_GUARD)

    (running,) = slow.endpoint.workflows.running()
    task_id = running.name.rpartition("-")[2]
    assert process.returncode == Exit.STOPPED
    assert re.search(rf"  stepwire --url \S+ tasks watch {task_id}\n", said)
    assert "Traceback" not in said


def test_a_second_ctrl_c_gives_up_and_prints_a_command_that_finds_the_task(
    slow: Slow, process: subprocess.Popen[str], capsys: pytest.CaptureFixture[str]
) -> None:
    os.kill(process.pid, signal.SIGINT)

    _, said = process.communicate(timeout=HANG_GUARD)
    slow.may_go.set()
    again = re.search(r"  stepwire (--url \S+ call endless text=hi --key \S+)\n", said)
    assert again, said
    run(in_front((*again[1].split(), "--detach")))

    assert process.returncode == Exit.STOPPED
    assert "Traceback" not in said
    assert len(slow.endpoint.workflows.starts) == 1
    (running,) = slow.endpoint.workflows.running()
    assert capsys.readouterr().out.strip() == running.name.rpartition("-")[2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["call", "endless", "text=hi"], r"Nothing was started\.\n", id="call", marks=pytest.mark.long),
        pytest.param(
            ["tasks", "watch", "01kyyk41g000000000000000000000000001"],
            r"The task (\w{36}) was not reached\. Come back with:\n  stepwire --url \S+ tasks watch \1\n",
            id="watch",
            marks=pytest.mark.long,
        ),
    ],
)
def test_before_the_server_has_answered_the_id_or_the_lack_of_a_task_is_said(words: list[str], said: str) -> None:
    has_come, may_go = Event(), Event()

    def handle(request: HttpRequest) -> HttpResponse:
        has_come.set()
        assert may_go.wait(HANG_GUARD)
        return HttpResponse(503, "", {})

    with serving(handle) as url:
        command = [sys.executable, "-m", "stepwire_cli", "--url", url, "--auth", "none", *words]
        process = subprocess.Popen(command, cwd=FOLDER, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        assert has_come.wait(HANG_GUARD)
        os.kill(process.pid, signal.SIGINT)
        _, told = process.communicate(timeout=HANG_GUARD)
        may_go.set()

    assert (process.returncode, re.fullmatch(said, told) is not None) == (Exit.STOPPED, True), told


PASS = '{"StartAt":"A","States":{"A":{"Type":"Pass","End":true}}}'
ARNS = [f"arn:aws:states:eu-central-1:123456789012:stateMachine:{name}" for name in ("First", "Second")]


@dataclass
class Held:
    """An account that keeps the answer to the second call of an operation until it is let go."""

    operation: str
    has_come: Event = field(default_factory=Event)
    may_go: Event = field(default_factory=Event)
    parameters: list[str] = field(default_factory=list[str])
    count: int = 0

    def aws(self) -> Aws:
        """Return its answers."""
        resource = {"StackResourceDetail": {"PhysicalResourceId": "table"}}
        return Aws({
            "DescribeStackResource": resource, "ListExecutions": {"executions": []},
            "GetResources": {"ResourceTagMappingList": []}, "GetParametersByPath": {"Parameters": []},
            "ListTagsForResource": {"tags": []}, "TagResource": {},
            "DescribeStateMachine": self._described, "PutParameter": self._put,
        })  # fmt: skip

    def _described(self, given: Mapping[str, Any]) -> Any:
        self._hold("DescribeStateMachine")
        name = given["stateMachineArn"].rpartition(":")[2]
        more = {"status": "ACTIVE", "roleArn": "arn:aws:iam::123456789012:role/x", "creationDate": 1}
        return {
            "stateMachineArn": given["stateMachineArn"],
            "name": name,
            "definition": PASS,
            "type": "STANDARD",
            **more,
        }

    def _put(self, given: Mapping[str, Any]) -> Any:
        self._hold("PutParameter")
        self.parameters.append(given["Name"])
        return {"Version": 1}

    def _hold(self, operation: str) -> None:
        self.count += operation == self.operation
        if operation == self.operation and self.count == 2:
            self.has_come.set()
            assert self.may_go.wait(HANG_GUARD)


WRAP = ("wrap", *ARNS, "--apply", "--endpoint", "live")


def begun_wrap(url: str, folder: Path) -> subprocess.Popen[str]:
    """Run `stepwire wrap --apply` in an account, in a process that can be interrupted."""
    paths = os.pathsep.join(str(ROOT / one) for one in ("packages/client", "packages/command", "layers/stepwire"))
    environment = {**os.environ, **CREDENTIALS, "AWS_ENDPOINT_URL": url, "PYTHONPATH": paths}
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    words = [sys.executable, "-m", "stepwire_cli", *WRAP]
    return subprocess.Popen(words, env=environment, cwd=folder, stderr=pipe, stdout=nothing, text=True)


@pytest.mark.parametrize(
    ("operation", "registered"),
    [
        pytest.param("DescribeStateMachine", [], marks=pytest.mark.long),
        ("PutParameter", ["/stepwire/live/tools/first"]),
    ],
)
def test_wrap_says_that_what_was_done_stays_and_goes_on_when_it_is_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str, registered: list[str]
) -> None:
    held = Held(operation)
    with aws_at(held.aws()) as url:
        process = begun_wrap(url, tmp_path)
        assert held.has_come.wait(HANG_GUARD)
        os.kill(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=HANG_GUARD)
        before = list(held.parameters)
        held.may_go.set()

        monkeypatch.chdir(tmp_path)
        for name, value in {**CREDENTIALS, "AWS_ENDPOINT_URL": url}.items():
            monkeypatch.setenv(name, value)
        again = run(in_front(WRAP))

    assert process.returncode == Exit.STOPPED
    assert said.endswith("Stopped. What is listed above was done and stays; the same command does the rest.\n")
    assert "Traceback" not in said
    assert before == registered
    assert again == Exit.DONE
    assert {"/stepwire/live/tools/first", "/stepwire/live/tools/second"} <= set(held.parameters)
