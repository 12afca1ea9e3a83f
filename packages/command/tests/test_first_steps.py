"""What somebody meets on the first day with the command: the lines typed first, and what they are told."""

import re
from pathlib import Path
from typing import Any

import pytest
import typer.main
from msgspec.structs import replace

from packages.client.tests.hostile import hostile
from stepwire.catalog.access import Access
from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire_cli.__main__ import FLAGS, VALUED, in_front
from stepwire_cli.app import app, run
from stepwire_cli.exits import Exit
from tests.clients.endpoint import served, serving
from tests.kits import World, catalog_of


@pytest.fixture(autouse=True)
def _own_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("STEPWIRE_TOKEN", "STEPWIRE_URL", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("STEPWIRE_HOME", str(tmp_path))


def test_the_version_needs_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(in_front(["--version"]))

    assert code == Exit.DONE
    assert re.fullmatch(r"\d+\.\d+\.\d+.*\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("words", "arranged"),
    [
        ("tools https://h/mcp", "--url https://h/mcp tools"),
        ("call http://h/mcp t a=1", "--url http://h/mcp call t a=1"),
        ("--json tasks show http://h/mcp ID", "--url http://h/mcp --json tasks show ID"),
        ("call t https://h/mcp", "call t https://h/mcp"),
        ("call t url=https://h/", "call t url=https://h/"),
        ("sign-in check https://h/mcp", "sign-in check https://h/mcp"),
        ("tools --url https://one/ https://two/", "--url https://two/ --url https://one/ tools"),
    ],
)
def test_the_url_may_stand_behind_the_command(words: str, arranged: str) -> None:
    assert in_front(words.split()) == arranged.split()


def test_a_server_without_a_list_of_tasks_says_why_and_nobody_is_sent_there(capsys: pytest.CaptureFixture[str]) -> None:
    def unlisted(opened: dict[str, Any]) -> None:
        opened["capabilities"]["tasks"].pop("list")

    with hostile(initialize=unlisted) as url:
        listed = run(["--url", url, "tasks", "list"])
        why = capsys.readouterr().err
        unknown = run(["--url", url, "tasks", "show", "lost"])

    assert (listed, unknown) == (Exit.UNREACHABLE, Exit.UNKNOWN)
    assert "without sign-in, it cannot tell whose they are. A task's id is enough." in why
    assert "tasks list" not in capsys.readouterr().err


def test_a_missing_argument_is_a_wrong_argument_and_nothing_is_sent(capsys: pytest.CaptureFixture[str]) -> None:
    with served() as there:
        code = run(["--url", there.url, "call", "instant", "count=1"])

        assert there.endpoint.workflows.starts == []
    assert (code, capsys.readouterr().err) == (Exit.USAGE, "error: instant also needs text: write text=VALUE.\n")


def test_an_argument_that_a_default_fills_in_is_not_missing() -> None:
    def filled(listed: dict[str, Any]) -> None:
        for tool in listed["tools"]:
            tool["inputSchema"] = {"required": ["text"], "properties": {"text": {"default": "hi"}}, "type": "object"}

    with hostile(tools_list=filled) as url:
        assert run(["--url", url, "call", "instant"]) == Exit.FAILED  # the endpoint itself has no such default


@pytest.mark.parametrize(
    ("item", "text", "written"),
    [
        ("string", "swift", """closed:='["swift"]'"""),
        ("integer", "3", "closed:='[3]'"),
        ("integer", "it's", """closed:='["it'"'"'s"]'"""),
    ],
)
def test_a_list_says_how_it_is_written(item: str, text: str, written: str, capsys: pytest.CaptureFixture[str]) -> None:
    def listing(listed: dict[str, Any]) -> None:
        for tool in listed["tools"]:
            one = {"type": "array", "items": {"type": item}}
            tool["inputSchema"] = {"type": "object", "properties": {"closed": one}}

    with hostile(tools_list=listing) as url:
        code = run(["--url", url, "call", "instant", f"closed={text}"])

    assert code == Exit.USAGE
    assert f"is no array. Write {written}." in capsys.readouterr().err


def test_a_server_without_tools_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    services = replace(World(catalog=catalog_of()).services, access=Access(knows_callers=False))  # so no list of tasks
    with serving(replace(World().server, services=services).handle) as url:
        code = run(["--url", url, "tools"])

    assert (code, capsys.readouterr()) == (Exit.DONE, ("", "The server has no tools.\n"))


def test_a_deployment_without_the_account_can_only_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["deploy", "--offline", "Authorizer=none"])

    said = "error: --offline needs --dry-run: without the account, nothing can be deployed.\n"
    assert (code, capsys.readouterr().err) == (Exit.USAGE, said)


def test_a_failed_tool_says_its_sentence_once(capsys: pytest.CaptureFixture[str]) -> None:
    words = "The workflow failed with Boom: because"

    def fails(task: dict[str, Any]) -> None:
        task["statusMessage"] = words
        if "result" in task:
            task["result"] = {"resultType": "complete", "isError": True, "content": [{"type": "text", "text": words}]}

    with hostile(tasks_get=fails) as url:
        begun = run(["--url", url, "call", "asking", "text=hi", "--detach"])
        task_id = capsys.readouterr().out.strip()
        run(["--url", url, "tasks", "answer", task_id, "--decline"])
        capsys.readouterr()
        code = run(["--url", url, "tasks", "watch", task_id])

    assert (begun, code) == (Exit.DONE, Exit.FAILED)
    assert capsys.readouterr().err == f"error: The task is completed, with an error: {words}\n"


def test_a_refused_answer_says_how_to_answer_again(capsys: pytest.CaptureFixture[str]) -> None:
    with served() as there:
        run(["--url", there.url, "call", "asking", "text=hi", "--detach"])
        task_id = capsys.readouterr().out.strip()

        code = run(["--url", there.url, "tasks", "answer", task_id, "amount=2000"])

    said = capsys.readouterr().err
    assert code == Exit.USAGE
    assert said.endswith(f"  stepwire --url {there.url} tasks answer {task_id}\n")
    assert "runs on" not in said


def test_a_shell_completes_tools(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with served() as there:
        asked = {"_STEPWIRE_COMPLETE": "complete_bash", "COMP_WORDS": "stepwire call inst", "COMP_CWORD": "2"}
        for name, value in {**asked, "STEPWIRE_URL": there.url}.items():
            monkeypatch.setenv(name, value)
        run([])

    out, said = capsys.readouterr()
    assert (out.split(), said) == (["instant"], "")


@pytest.mark.parametrize("words", ["", "tasks", "sign-in", "publish", "call", "tasks answer", "redrive"])
def test_help_cuts_nothing(words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    run([*words.split(), "--help"])

    shown = capsys.readouterr().out
    assert not [line for line in shown.splitlines() if line.endswith("...") and not line.startswith("Usage:")]
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("words", [[], ["--help"], ["help"]])
def test_each_of_the_first_two_screens_has_24_lines_of_80_columns(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    run(words)

    out, err = capsys.readouterr()
    lines = (out + err).splitlines()
    assert 20 < len(lines) <= 24
    assert max(map(len, lines)) <= 80


def test_the_first_screen_begins_with_what_stepwire_is(capsys: pytest.CaptureFixture[str]) -> None:
    run(["--help"])

    assert capsys.readouterr().out.splitlines()[1] == (
        "Stepwire serves AWS Step Functions workflows as tools of an MCP server."
    )


def test_the_first_screen_names_every_command_in_a_group(capsys: pytest.CaptureFixture[str]) -> None:
    run(["--help"])

    shown = capsys.readouterr().out
    commands: Any = typer.main.get_command(app)
    names = [name for name, one in commands.commands.items() if not one.hidden]
    assert [name for name in names if f"\n  {name} " not in shown] == []
    assert [title for title in ("Use", "Build", "Deploy", "Operate") if f"\n{title} " not in shown] == []


def test_the_second_screen_has_the_options_of_all_commands_and_leads_to_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(["help"])
    shared = capsys.readouterr().out
    run(["help", "tasks", "answer"])
    one = capsys.readouterr().out

    assert [option for option in (*VALUED, *FLAGS) if f"\n  {option} " not in shared] == []
    assert "\nExit codes" in shared
    assert one.startswith("Usage: stepwire tasks answer")


def test_an_issuer_that_registers_no_clients_is_told_with_the_way_out(capsys: pytest.CaptureFixture[str]) -> None:
    def handle(request: HttpRequest) -> HttpResponse:
        is_call = b"jsonrpc" in request.body
        return HttpResponse(401 if is_call else 404, "{}", {"content-type": "application/json"})

    with serving(handle) as url:
        code = run(["--url", url, "--auth", "oauth", "tools"])

    assert code == Exit.SIGN_IN
    said = capsys.readouterr().err
    assert "The issuer registers no client by itself" in said
    assert "Give --client-id ID, and --callback-port PORT" in said
    assert "--auth oauth" not in said
