"""Ctrl-C while a call is on its way: nothing is lost. The server says when the call has come, so nothing races."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

import pytest

from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire_cli.exits import Exit
from tests.refusals.endpoint import Endpoint, serving
from tests.waiting import HANG_GUARD

FOLDER = Path(__file__).parents[2] / "command"


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
    slow: Slow, process: subprocess.Popen[str]
) -> None:
    os.kill(process.pid, signal.SIGINT)

    _, said = process.communicate(timeout=HANG_GUARD)
    slow.may_go.set()
    again = re.search(r"  stepwire (--url \S+ call endless text=hi --key \S+)\n", said)
    assert again, said
    found = subprocess.run(
        [sys.executable, "-m", "stepwire_cli", *again[1].split(), "--detach"],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_GUARD,
    )

    assert process.returncode == Exit.STOPPED
    assert "Traceback" not in said
    assert len(slow.endpoint.workflows.starts) == 1
    (running,) = slow.endpoint.workflows.running()
    assert found.stdout.strip() == running.name.rpartition("-")[2]
