"""The command against Stepwire: what each prints, and the exit code that it ends with. No run leaves a stack trace."""

import io
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.auth import OAuthToken

from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire_cli.__main__ import in_front
from stepwire_cli.app import run
from stepwire_cli.exits import Exit
from stepwire_cli.use.browser import Callback, TokenFile
from tests.clients.endpoint import FATAL_AMOUNT, Endpoint, Served, served, serving

ROOT = Path(__file__).parents[3]


class Ran:
    """What a command printed, and how it ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err
        assert "Traceback" not in out + err

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)


Stepwire = Callable[..., Ran]


@pytest.fixture(scope="module")
def there() -> Iterator[Served]:
    """An endpoint whose tools end, ask and fail as their names say."""
    with served() as there:
        yield there


@pytest.fixture
def endpoint(there: Served) -> Endpoint:
    """What serves it."""
    return there.endpoint


@pytest.fixture
def stepwire(
    there: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Stepwire:
    """Run a command line without a terminal."""
    for name in ("STEPWIRE_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("STEPWIRE_URL", there.url)
    monkeypatch.setenv("STEPWIRE_HOME", str(tmp_path / "home"))

    def ran(*words: str) -> Ran:
        code = run(in_front(words))
        printed = capsys.readouterr()
        return Ran(code, printed.out, printed.err)

    return ran


def begun(stepwire: Stepwire, tool: str = "endless") -> str:
    """Begin a task, and return its id."""
    return stepwire("call", tool, "text=hi", "--detach").out.strip()


def test_tools_are_a_row_each(stepwire: Stepwire) -> None:
    ran = stepwire("tools")

    assert ran.code == Exit.DONE
    assert "instant\ttext [count]\tRuns with a task or without." in ran.out.splitlines()


def test_tools_are_json_for_programs(stepwire: Stepwire) -> None:
    assert "instant" in [tool["name"] for tool in stepwire("tools", "--json").json]


def test_a_call_prints_its_result_alone_on_standard_output(stepwire: Stepwire) -> None:
    ran = stepwire("call", "instant", "text=hi")

    assert (ran.code, json.loads(ran.out)) == (Exit.DONE, {"said": "done"})


def test_arguments_have_the_types_of_the_schema(stepwire: Stepwire, endpoint: Endpoint) -> None:
    stepwire("call", "instant", "text=17", "count=3")

    assert json.loads(endpoint.workflows.starts[-1].input_text) == {"text": "17", "count": 3}


def test_arguments_come_from_a_file_and_pairs_win(stepwire: Stepwire, endpoint: Endpoint, tmp_path: Path) -> None:
    file = tmp_path / "in.json"
    file.write_text('{"text": "from the file", "count": 1}')

    stepwire("call", "instant", "--input", str(file), "count:=2")

    assert json.loads(endpoint.workflows.starts[-1].input_text) == {"text": "from the file", "count": 2}


def test_a_file_as_windows_writes_it_gives_what_was_written(
    stepwire: Stepwire, endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its byte order mark is none of its contents, and its line ends are."""
    marked, text = tmp_path / "in.json", tmp_path / "in.txt"
    marked.write_bytes(b'\xef\xbb\xbf{"text": "hi"}\r\n')
    text.write_bytes(b"\xef\xbb\xbfa\r\nb")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(marked.read_bytes())))

    for words in (["--input", str(marked)], ["--input", "-"], [f"text=@{text}"]):
        stepwire("call", "instant", *words)

    given = [json.loads(one.input_text)["text"] for one in endpoint.workflows.starts[-3:]]
    assert given == ["hi", "hi", "a\r\nb"]


def test_standard_input_that_is_no_utf_8_is_told_in_a_line(stepwire: Stepwire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"text": "\xff"}')))

    ran = stepwire("call", "instant", "--input", "-")

    assert (ran.code, ran.err) == (Exit.USAGE, "error: - cannot be read: it is not UTF-8.\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["text"], "'text' is no argument: write KEY=VALUE"),
        (["text=hi", "count=many"], "count: 'many' is no integer."),
        (["text:=hi"], "The value of text is not JSON, line 1, column 1"),
        (["text=@/nowhere"], "/nowhere cannot be read: no such file"),
        (["--input", "/nowhere"], "/nowhere cannot be read: no such file"),
        (["--input", "pyproject.toml"], "pyproject.toml is not JSON, line 1, column 2"),
    ],
)
def test_arguments_that_cannot_be_read_are_told_in_a_line(stepwire: Stepwire, words: list[str], said: str) -> None:
    ran = stepwire("call", "instant", *words)

    assert ran.code == Exit.USAGE
    assert ran.err.startswith(f"error: {said}")
    assert len(ran.err.splitlines()) == 1


def test_refused_arguments_end_the_call(stepwire: Stepwire) -> None:
    ran = stepwire("call", "instant", "text=hi", "count=-1")

    assert ran.code == Exit.FAILED
    assert "less than the minimum" in ran.err


def test_an_unknown_tool_is_answered_with_the_nearest(stepwire: Stepwire) -> None:
    ran = stepwire("call", "instat")

    assert (ran.code, ran.err) == (Exit.UNKNOWN, "error: The server has no tool instat; did you mean instant?\n")


def test_an_error_of_the_protocol_is_told(stepwire: Stepwire) -> None:
    ran = stepwire("call", "failing", "text=hi")

    assert ran.code != Exit.DONE
    assert "Not for you." in ran.err


def test_the_same_key_finds_the_same_task(stepwire: Stepwire, endpoint: Endpoint) -> None:
    before = len(endpoint.workflows.starts)

    first, second = (
        stepwire("call", "endless", "text=hi", "--key", "k1", "--detach").out,
        stepwire("call", "endless", "text=hi", "--key", "k1", "--detach").out,
    )

    assert first == second
    assert len(endpoint.workflows.starts) == before + 1


def test_a_detached_call_says_how_to_come_back(stepwire: Stepwire) -> None:
    ran = stepwire("call", "endless", "text=hi", "--detach")

    assert f"stepwire tasks watch {ran.out.strip()}" in ran.err


def test_a_question_without_a_terminal_leaves_the_task_waiting(stepwire: Stepwire, endpoint: Endpoint) -> None:
    ran = stepwire("call", "asking", "text=hi")

    task_id = ran.err.split()[1]
    assert ran.code == Exit.WAITING
    *_, how, command = ran.err.splitlines()
    assert how.endswith(" Answer it at a terminal, or with values (amount=NUMBER [note=TEXT]):")
    assert command == f"  stepwire tasks answer {task_id}"
    shown = stepwire("tasks", "show", task_id)
    assert "asks     May it go on?\nanswer   amount=NUMBER [note=TEXT]\n" in shown.out
    answered = stepwire("tasks", "answer", task_id, "amount=7")
    assert (answered.code, answered.err) == (Exit.DONE, "The answer was taken; it is completed.\n")
    followed = stepwire("tasks", "watch", task_id, "--json")
    assert followed.json["taskId"] == task_id
    assert followed.json["result"]["structuredContent"]["content"] == {"amount": 7}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["amount=700"], "amount: 700 is greater than the maximum of 100."),
        (["amount=x"], "amount: 'x' is no integer."),
        (["note=x"], "The question also needs amount."),
        (["price=1"], "The question has no field price; it has amount, note."),
    ],
)
def test_a_wrong_answer_is_told_before_it_is_sent(stepwire: Stepwire, values: list[str], said: str) -> None:
    task_id = stepwire("call", "asking", "text=hi", "--detach").out.strip()

    ran = stepwire("tasks", "answer", task_id, *values)

    assert ran.code == Exit.USAGE
    assert f"error: {said}" in ran.err
    assert stepwire("tasks", "show", task_id, "--json").json["status"] == "input_required"


def test_an_answer_after_which_the_workflow_fails_is_no_success(stepwire: Stepwire) -> None:
    task_id = stepwire("call", "asking", "text=hi", "--detach").out.strip()

    ran = stepwire("tasks", "answer", task_id, f"amount={FATAL_AMOUNT}")

    assert ran.code == Exit.FAILED
    said = "completed, with an error: The workflow failed with Refund.Refused: the amount is refused"
    assert ran.err == f"The answer was taken; it is {said}\n"
    shown, listed = stepwire("tasks", "show", task_id).out, stepwire("tasks", "list").out
    assert f"status   {said}\n" in shown
    assert shown.count("the amount is refused") == 1
    (line,) = [one for one in listed.splitlines() if one.startswith(f"{task_id}\tcompleted, with an error\t")]
    assert line.endswith("the amount is refused")
    assert stepwire("tasks", "watch", task_id).err == f"error: The task is {said}\n"


def test_a_question_is_declined(stepwire: Stepwire) -> None:
    task_id = stepwire("call", "asking", "text=hi", "--detach").out.strip()

    ran = stepwire("tasks", "answer", task_id, "--decline")

    assert ran.code == Exit.DONE
    assert stepwire("tasks", "watch", task_id, "--json").json["result"]["structuredContent"]["action"] == "decline"


def test_a_task_that_asks_nothing_takes_no_answer(stepwire: Stepwire) -> None:
    ran = stepwire("tasks", "answer", begun(stepwire), "amount=7")

    assert (ran.code, ran.err) == (Exit.FAILED, "The task asks nothing; it is working.\n")


def test_tasks_are_listed_and_cancelled(stepwire: Stepwire) -> None:
    task_id = begun(stepwire)

    assert f"{task_id}\tworking" in stepwire("tasks", "list").out
    assert stepwire("tasks", "cancel", task_id).err == f"The task {task_id} is cancelled.\n"
    assert stepwire("tasks", "watch", task_id).code == Exit.FAILED
    assert {task["taskId"]: task["status"] for task in stepwire("tasks", "list", "--json").json}[task_id] == "cancelled"


@pytest.mark.parametrize("command", ["show", "watch", "answer", "cancel"])
def test_an_unknown_task_has_an_exit_code_of_its_own(stepwire: Stepwire, command: str) -> None:
    ran = stepwire("tasks", command, "nobody-knows-it")

    assert ran.code == Exit.UNKNOWN
    assert "`stepwire tasks list` shows yours." in ran.err


@pytest.mark.parametrize(
    ("response", "code"),
    [
        (HttpResponse(200, "<html>", {"content-type": "text/html"}), Exit.UNREACHABLE),
        (HttpResponse(200, "Welcome", {"content-type": "application/json"}), Exit.UNREACHABLE),
        (HttpResponse(401, "{}", {"content-type": "application/json"}), Exit.SIGN_IN),
        (HttpResponse(403, "{}", {"content-type": "application/json"}), Exit.SIGN_IN),
        (HttpResponse(503, "", {}), Exit.UNREACHABLE),
    ],
    ids=["a web page", "no JSON", "expired sign-in", "no right", "down"],
)
def test_a_server_that_does_not_serve_us_is_told_in_a_line(
    stepwire: Stepwire, response: HttpResponse, code: Exit
) -> None:
    def handle(_request: HttpRequest) -> HttpResponse:
        return response

    with ExitStack() as running_server:
        url = running_server.enter_context(serving(handle))
        ran = stepwire("tools", "--url", url, "--token", "old")

    assert ran.code == code
    assert ran.err.startswith("error: ")
    assert len(ran.err.splitlines()) == 1


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/mcp", "http://nobody.invalid/", "ftp://host", "host"])
def test_without_a_network_it_is_a_line(stepwire: Stepwire, url: str) -> None:
    ran = stepwire("call", "instant", "--url", url, "--auth", "none")

    assert ran.code == Exit.UNREACHABLE
    assert len(ran.err.splitlines()) == 1


def test_without_a_server_it_says_how_to_name_one(stepwire: Stepwire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STEPWIRE_URL")

    ran = stepwire("tools")

    assert (ran.code, ran.err) == (Exit.USAGE, "error: Which server? Write --url URL, or set STEPWIRE_URL.\n")


def test_a_token_comes_from_an_option_the_environment_or_a_file(
    stepwire: Stepwire, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen = list[str]()
    file = tmp_path / "token"
    file.write_text("\ufeffof-the-file\n", encoding="utf-8")

    def handle(request: HttpRequest) -> HttpResponse:
        seen.append(request.headers.get("authorization", ""))
        return HttpResponse(401, "{}", {"content-type": "application/json"})

    with serving(handle) as url:
        stepwire("tools", "--url", url, "--token", "given")
        stepwire("tools", "--url", url, "--token-file", str(file))
        monkeypatch.setenv("STEPWIRE_TOKEN", "of-the-environment")
        stepwire("tools", "--url", url)

    assert [seen[0], seen[2], seen[4]] == ["Bearer given", "Bearer of-the-file", "Bearer of-the-environment"]


@pytest.mark.parametrize("given", ["an-opaque-token", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9.c2ln"])
def test_a_token_that_is_given_in_place_of_its_file_is_not_printed(stepwire: Stepwire, given: str) -> None:
    ran = stepwire("tools", "--url", "http://127.0.0.1:9/mcp", "--token-file", given)

    assert (ran.code, ran.out) == (Exit.USAGE, "")
    assert "now in the shell's history" in ran.err
    assert given not in ran.err


@pytest.mark.parametrize(
    ("words", "arranged"),
    [
        (["call", "t", "a=1", "--url", "u"], ["--url", "u", "call", "t", "a=1"]),
        (["tools", "--json", "--url=u"], ["--json", "--url=u", "tools"]),
        (["call", "t", "--", "--url", "u"], ["call", "t", "--", "--url", "u"]),
        (["--url"], ["--url"]),
        (["call", "t", "--key", "k"], ["call", "t", "--key", "k"]),
    ],
)
def test_the_options_of_every_command_may_stand_anywhere(words: list[str], arranged: list[str]) -> None:
    assert in_front(words) == arranged


def test_help_loads_nothing_heavy() -> None:
    script = (
        "import sys; from stepwire_cli.app import run; run(['--help']); print(*sorted(sys.modules), file=sys.stderr)"
    )

    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT / "packages/command"
    )

    loaded = set(ran.stderr.split())
    assert "Operate an endpoint:" in ran.stdout
    heavy = {
        "mcp",
        "mcp_types",
        "httpx",
        "httpx2",
        "pydantic",
        "rich",
        "boto3",
        "botocore",
        "jsonschema",
        "stepwire",
        "yaml",
    }
    assert heavy.isdisjoint(loaded)
    # 276 on Python 3.11: Typer, and what it takes of the standard library.
    assert len(loaded) < 330


def process(*words: str | Path, output: int = subprocess.PIPE, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "stepwire_cli", *map(str, words)],
        stdout=output,
        stderr=subprocess.PIPE,
        env={**os.environ, **variables},
        check=False,
        cwd=ROOT / "packages/command",
    )


def test_a_closed_pipe_is_no_error_and_hides_none() -> None:
    """The example has findings, so its exit code is 1, however little of them is read."""
    read, write = os.pipe()
    os.close(read)

    with os.fdopen(write, "w") as closed:
        ran = process("doctor", "tests/example/tools", output=closed.fileno(), PYTHONUNBUFFERED="")

    assert (ran.returncode, ran.stderr.decode()) == (Exit.FAILED, "2 files, 4 findings.\n")


@pytest.mark.parametrize(("number", "said"), [(0, b"error: Nobody can be asked here"), (1, b""), (2, b"")])
def test_a_stream_that_was_closed_before_the_start_is_no_fault(number: int, said: bytes, tmp_path: Path) -> None:
    def close() -> None:
        os.close(number)

    words = ["new", "tool", *(() if number == 0 else ("--yes", "--output", str(tmp_path / "made")))]
    command = [sys.executable, "-m", "stepwire_cli", *words]

    ran = subprocess.run(command, capture_output=True, preexec_fn=close, check=False, cwd=ROOT / "packages/command")

    assert (ran.returncode, b"fault of" in ran.stderr, said in ran.stderr) == (
        Exit.USAGE if number == 0 else 0,
        False,
        True,
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
def test_a_full_disk_is_told_in_a_line() -> None:
    with Path("/dev/full").open("w") as full:
        ran = process("--help", output=full.fileno())

    assert (ran.returncode, ran.stderr) == (Exit.USAGE, b"error: standard output: no space left on device.\n")


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        ("größe-\U0001f600.yaml".encode(), r"gr\u00f6\u00dfe-\ud83d\ude00.yaml"),
        pytest.param(b"gr\xf6\xdfe.yaml", r"gr\udcf6\udcdfe.yaml", marks=pytest.mark.long),
    ],
    ids=["not of the terminal's encoding", "not UTF-8"],
)
def test_what_the_terminal_cannot_show_is_escaped_and_json_stays_json(tmp_path: Path, file: bytes, shown: str) -> None:
    (tmp_path / os.fsdecode(file)).write_text("name: [")

    text = process("doctor", tmp_path, PYTHONIOENCODING="ascii")
    found = process("doctor", tmp_path, "--json", PYTHONIOENCODING="ascii")

    assert text.stdout.decode().startswith(f"{tmp_path}/{shown}: line 1")
    assert json.loads(found.stdout)[0]["where"].endswith(json.loads(f'"{shown}"'))
    assert (text.returncode, found.returncode) == (Exit.FAILED, Exit.FAILED)


def test_a_file_that_the_system_refuses_is_named_and_is_no_fault_of_stepwire() -> None:
    name = "x" * 300

    ran = process("wrap", name)

    assert ran.returncode == Exit.USAGE
    assert ran.stderr.decode() == f"error: {name}: file name too long.\n"


def test_a_shell_completes_commands() -> None:
    asked = {"_STEPWIRE_COMPLETE": "complete_bash", "COMP_WORDS": "stepwire tasks ans", "COMP_CWORD": "2"}
    command = [str(Path(sys.executable).with_name("stepwire"))]

    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ) | asked)

    assert ran.stdout.split() == ["answer"]


def test_what_is_kept_belongs_to_its_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPWIRE_HOME", str(tmp_path))
    (tmp_path / "tokens").mkdir()
    (tmp_path / "tokens").chmod(0o777)
    kept = TokenFile("https://mcp.example/mcp", None, Callback(1))

    anyio.run(kept.set_tokens, OAuthToken(access_token="secret", expires_in=-1))

    (file,) = (tmp_path / "tokens").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    found = anyio.run(kept.get_tokens)
    assert found is not None
    assert found.access_token == "secret"
