"""The command line: its output and its exit codes."""

import json
import logging
import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import anyio
import boto3
import httpx
import pytest

from packages.local.tests.conftest import TEMPLATE
from stepwire_local import LocalStack
from stepwire_local.__main__ import main
from stepwire_local.account.engine import ACCOUNT
from stepwire_local.terminal.welcome import not_served, services_welcome
from tests.adopted import ADOPTER
from tests.ports import free_port
from tests.sign_in.mcp_2 import seen_by_mcp_2
from tests.waiting import HANG_GUARD, until

ROOT = Path(__file__).parents[4]
Json = dict[str, Any]
COMMAND = [sys.executable, "-m", "stepwire_local"]


@pytest.fixture
def untouched_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Undo what the command changes in its process: signal handlers and the handlers of the root logger."""
    monkeypatch.setattr(logging.root, "handlers", list[logging.Handler]())
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


def failed_here(*arguments: str) -> str:
    """Run the command in this process; return its standard error after checking its exit code."""
    with redirect_stdout(shown := StringIO()), redirect_stderr(errors := StringIO()):
        assert main(arguments) == 2
    assert shown.getvalue() == ""
    return errors.getvalue()


def refused(*arguments: str) -> str:
    """Parse invalid arguments in this process; return the error text."""
    with redirect_stderr(shown := StringIO()), pytest.raises(SystemExit, match="2"):
        main(arguments)
    return shown.getvalue()


@dataclass
class Served:
    """The running command, and its output after it has stopped."""

    process: subprocess.Popen[str]
    url: str
    logs: Path
    lines: list[str]
    errors: str = ""

    def shows(self, words: str) -> None:
        """Read its output until a line has these words: lines of several threads come in any order."""
        assert self.process.stdout is not None
        while not any(words in line for line in self.lines):
            line = self.process.stdout.readline()
            assert line, f"the screen never said {words!r}"
            self.lines.append(line.rstrip("\n"))

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """Stop it with a signal; return its exit code."""
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.process.send_signal(number)
        self.lines += self.process.stdout.read().splitlines()
        self.errors = self.process.stderr.read()
        return self.process.wait()

    def records(self) -> list[Json]:
        """Return the records in the functions' log."""
        (path,) = self.logs.glob("*.jsonl")
        return [json.loads(line) for line in path.read_text().splitlines()]


@contextmanager
def serving(logs: Path, template: Path, *arguments: str, **variables: str) -> Generator[Served]:
    command = [*COMMAND, "--template", str(template), "--port", "0", "--logs", str(logs), *arguments]
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under `nohup` it is ignored, also by what is started
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **variables}
    ) as process:
        signal.signal(signal.SIGHUP, before)
        assert process.stdout is not None
        first = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+(/mcp)?", first)
        if not found:
            process.kill()
        assert found, (first, *process.communicate())
        try:
            yield Served(process, found[0], logs, [first.rstrip("\n")])
        finally:
            process.kill()


@pytest.mark.parametrize(
    "number", [signal.SIGINT, *(pytest.param(one, marks=pytest.mark.long) for one in (signal.SIGTERM, signal.SIGHUP))]
)
def test_it_serves_until_a_signal_stops_it(tmp_path: Path, number: signal.Signals) -> None:
    with serving(tmp_path / "logs", TEMPLATE, "--parameter", "Greeting=moin", "--expire-after", "5") as served:
        answer = httpx.post(served.url, json={}, timeout=HANG_GUARD).json()
        code = served.stop(number)

    rest = "\n".join(served.lines)
    assert answer["environment"]["GREETING"] == "moin"
    assert (code, served.errors) == (0, "")
    assert f"claude mcp add --transport http stepwire {served.url}" in rest
    assert "  export AWS_ENDPOINT_URL=http://127.0.0.1:" in rest
    assert re.search(r'"mcpServers": \{"stepwire": \{"type": "http", "url": "http://127', rest)
    assert "Setting: AWS::Kinesis::Stream is not served" in rest


@pytest.mark.long
def test_with_an_issuer_it_requires_sign_in_and_says_how(tmp_path: Path) -> None:
    port = str(free_port())
    plan: Json = {"way": "id", "client_id": "local", "callback": "http://localhost:8080/callback", "calls": []}

    with serving(tmp_path / "logs", ROOT / "stack.yaml", "--port", port, "--issuer", "cognito") as served:
        without = httpx.post(served.url, json={}, timeout=HANG_GUARD)
        seen = anyio.run(seen_by_mcp_2, served.url, plan)
        code = served.stop()

    assert without.status_code == 401
    assert ("error" in seen, "tools" in seen) == (False, True)
    assert (code, served.errors) == (0, "")
    shown = "\n".join(served.lines)
    assert "Sign-in at the test issuer http://127.0.0.1:" in shown
    assert "--client-id local --callback-port 8080" in shown


def test_an_issuer_needs_a_known_port_and_a_known_shape() -> None:
    assert "name a port" in failed_here("--template", str(TEMPLATE), "--port", "0", "--issuer", "okta")
    assert "invalid choice" in refused("--issuer", "none")


def call(url: str, method: str, **params: Any) -> Json:
    session = {"mcp-protocol-version": "2025-11-25", "accept": "application/json, text/event-stream"}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return httpx.post(url, json=body, headers={**session, "user-agent": "test/1"}, timeout=HANG_GUARD).json()


@pytest.mark.long
def test_the_screen_has_a_line_a_request_and_a_task_and_nothing_of_the_functions(tmp_path: Path) -> None:
    often = ("--parameter", "PollsPerSecond=0")
    with serving(tmp_path / "logs", ROOT / "stack.yaml", "--template", str(ADOPTER), *often) as served:
        arguments = {"message": "hello", "seconds": 0}
        task_id = call(served.url, "tools/call", name="wait_and_echo", arguments=arguments, task={})["result"]["task"][
            "taskId"
        ]
        until(lambda: call(served.url, "tasks/get", taskId=task_id)["result"]["status"] == "completed")
        call(served.url, "tools/call", name="nobody")
        served.shows(f"task {task_id} wait_and_echo completed")  # read from the table's stream, at a time of its own
        code = served.stop()

    shown = "\n".join(served.lines)
    assert (code, served.errors) == (0, "")
    assert "_aws" not in shown
    assert sum(line.startswith("  ") and ": " in line for line in served.lines if "mcpServers" not in line) == 2
    assert re.search(rf"2025-11-25 test/1 +tools/call +wait_and_echo +{task_id} 200 working +\d+ ms", shown)
    assert re.search(rf"task {task_id} wait_and_echo working$", shown, re.MULTILINE)
    assert re.search(rf"task {task_id} wait_and_echo completed$", shown, re.MULTILINE)
    assert re.search(r"nobody .* 200 +\d+ ms  -32602 Unknown tool 'nobody'", shown)
    assert any(record.get("record", {}).get("audit") == "created" for record in served.records())


@pytest.mark.long
def test_a_change_of_a_manifest_is_taken_over_and_a_broken_one_is_told(tmp_path: Path) -> None:
    adopter = tmp_path / "adopter.yaml"
    states = {"StartAt": "Echo", "States": {"Echo": {"Type": "Pass", "End": True}}}
    machine = {
        "Type": "AWS::Serverless::StateMachine",
        "Properties": {"Definition": states, "Tags": {"stepwire:endpoint": "stepwire"}},
    }

    def write(description: str) -> None:
        manifest = f'name: greet\n{description}\nstate_machine: "${{Machine}}"\ninput_schema: {{type: object}}\n'
        tool = {"Name": "/stepwire/stepwire/tools/greet", "Type": "String", "Value": {"Fn::Sub": manifest}}
        resources = {"Machine": machine, "Tool": {"Type": "AWS::SSM::Parameter", "Properties": tool}}
        body = {"Transform": "AWS::Serverless-2016-10-31", "Resources": resources}
        adopter.write_text(json.dumps(body), encoding="utf-8")

    def described() -> list[str]:
        return [tool["description"] for tool in call(served.url, "tools/list")["result"]["tools"][:1]]

    write("description: Greets.")
    with serving(tmp_path / "logs", ROOT / "stack.yaml", "--template", str(adopter)) as served:
        first = described()
        write("descriptoin: Greets.")
        served.shows(f"{adopter}: deployed: Tool")
        served.shows("/stepwire/stepwire/tools/greet is refused, and the last good one serves: ")
        adopter.write_text("Resources: [", encoding="utf-8")
        served.shows(f"{adopter}: not taken over, the last good one serves: ")
        again = described()
        code = served.stop()

    assert first == again == ["Greets."]
    assert code == 0


def test_whatever_does_not_work_in_an_application_is_shown_the_gravest_first() -> None:
    stack = LocalStack(TEMPLATE)
    stack.not_served = ("a: so", "b: its schedule never fires", "c: so", "d: X is not served", "e: so")
    stack.differences = ("tables: no encryption", "stages: no throttling")

    usual, everything = not_served(stack, is_verbose=False), not_served(stack, is_verbose=True)

    assert usual == [
        "Not served, or not as in AWS:",
        "  d: X is not served",
        "  b: its schedule never fires",
        *("  a: so", "  c: so", "  e: so", ""),
        *("2 differences from AWS that every application has: --verbose", ""),
    ]
    assert everything[7:] == [
        "Different from AWS for every application:",
        *("  tables: no encryption", "  stages: no throttling", ""),
    ]


def test_a_wait_may_be_shortened(tmp_path: Path) -> None:
    waits = {"StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "Seconds": 600, "End": True}}}
    machine = {"Type": "AWS::Serverless::StateMachine", "Properties": {"Name": "patient", "Definition": waits}}
    (tmp_path / "patient.yaml").write_text(json.dumps({"Resources": {"Machine": machine}}))
    beside = ("--template", str(tmp_path / "patient.yaml"), "--longest-wait", "0.1")
    with serving(tmp_path / "logs", TEMPLATE, *beside, LOG="json") as served:
        account = json.loads(served.lines[0])["account"]
        session: Any = boto3.Session("local", "local", region_name="us-east-1")
        client = session.client("stepfunctions", endpoint_url=account)
        started = client.start_execution(stateMachineArn=f"arn:aws:states:us-east-1:{ACCOUNT}:stateMachine:patient")
        until(lambda: client.describe_execution(executionArn=started["executionArn"])["status"] == "SUCCEEDED")


@pytest.mark.long
def test_for_a_program_every_line_is_json(tmp_path: Path) -> None:
    with serving(tmp_path / "logs", TEMPLATE, LOG="json") as served:
        httpx.post(served.url, json={"jsonrpc": "2.0", "method": "ping"}, timeout=HANG_GUARD)
        served.stop()

    serves, request = map(json.loads, served.lines)
    assert (serves["event"], serves["url"]) == ("serving", served.url)
    assert "Setting: AWS::Kinesis::Stream is not served" in serves["not_served"]
    assert (request["event"], request["method"], request["status"]) == ("request", "ping", 200)


def test_an_unknown_log_format_is_one_line(monkeypatch: pytest.MonkeyPatch, untouched_process: None) -> None:
    monkeypatch.setenv("LOG", "xml")

    assert failed_here() == "error: LOG=xml is not a log format: choose one of text, json.\n"


def test_a_missing_template_is_one_line_and_exit_code_2(untouched_process: None) -> None:
    error = failed_here("--template", "gone.yaml", "--port", "0")

    assert "error: gone.yaml does not exist" in error
    assert len(error.splitlines()) == 1


def test_a_wrong_parameter_is_one_line(tmp_path: Path, untouched_process: None) -> None:
    error = failed_here(
        "--template", str(TEMPLATE), "--port", "0", "--parameter", "Authorizer=maybe", "--logs", str(tmp_path)
    )

    assert "must be one of jwt, iam, none" in error
    assert len(error.splitlines()) == 1


def test_a_parameter_without_a_value_is_refused() -> None:
    assert "is not KEY=VALUE" in refused("--parameter", "Greeting")


@pytest.mark.parametrize(
    ("address", "words"),
    [("0.0.0.0", "is every address of this machine"), ("somewhere", "is not an IPv4 address")],
)
def test_services_listen_on_one_named_address(address: str, words: str) -> None:
    assert words in refused("--services", "--host", address)


@pytest.mark.parametrize(("address", "warns"), [("127.0.0.1", False), ("172.17.0.1", True)])
def test_services_that_other_machines_can_reach_show_a_warning(address: str, warns: bool) -> None:
    stack = LocalStack(TEMPLATE, services_at=address)

    text = services_welcome(stack, address, Path("env.json"))

    assert (f"WARNING: every client that reaches {address}" in text) is warns
