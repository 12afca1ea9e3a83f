"""The commands of README.md and docs/calling_by_hand.md that call the local stack are run as they are shown."""

import json
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from typing import Final

import pytest

from stepwire_cli.__main__ import in_front
from stepwire_cli.app import run
from stepwire_cli.exits import Exit
from stepwire_local import LocalStack
from tests.adopted import ADOPTER
from tests.docs.pages import ROOT, page
from tests.waiting import HANG_GUARD

EXPORT: Final = "export STEPWIRE_URL="
STEPWIRE: Final = ".venv/bin/stepwire "
LOCAL: Final = "http://127.0.0.1:3000/mcp"


@pytest.fixture(scope="module")
def local() -> Iterator[LocalStack]:
    with LocalStack(ROOT / "stack.yaml", others=[ADOPTER]) as local:
        yield local


def ran(local: LocalStack, commands: list[str]) -> subprocess.CompletedProcess[str]:
    """Run commands, unchanged except for the port."""
    script = "\n".join(commands).replace(LOCAL, local.url)
    ended = subprocess.run(
        ["/bin/sh", "-euc", script], cwd=ROOT, capture_output=True, text=True, timeout=HANG_GUARD, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended


def test_the_command_lists_and_calls_the_tools_as_shown(
    local: LocalStack, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process, because each further one imports the client again."""
    commands = page(ROOT / "README.md").commands
    (url,) = [command.removeprefix(EXPORT) for command in commands if command.startswith(EXPORT)]
    monkeypatch.setenv("STEPWIRE_URL", url.replace(LOCAL, local.url))

    codes = [run(in_front(shlex.split(one.removeprefix(STEPWIRE)))) for one in commands if one.startswith(STEPWIRE)]

    assert set(codes) == {Exit.DONE}
    shown = capsys.readouterr().out
    assert "wait_and_echo" in shown
    assert '"message": "hello"' in shown


@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl, as the page does")
def test_each_command_of_the_page_is_answered(local: LocalStack) -> None:
    ended = ran(local, page(ROOT / "docs" / "calling_by_hand.md").commands)

    assert ended.stderr.count('"taskId"') == 3, "the response of each call that creates a task"
    listed, modern, cancelled, asked, answered, refunded, legacy, result = (
        json.loads(line.removeprefix("data:")) for line in ended.stdout.splitlines() if '"jsonrpc"' in line
    )
    assert "wait_and_echo" in [tool["name"] for tool in listed["result"]["tools"]]
    assert modern["result"]["status"] in ("working", "completed")
    assert "result" in cancelled
    assert asked["result"]["inputRequests"]["approval"]["method"] == "elicitation/create"
    assert answered["result"]["resultType"] == "complete"
    assert refunded["result"]["result"]["structuredContent"]["refunded"] == "249.00"
    assert legacy["result"]["status"] in ("working", "completed")
    assert result["result"]["structuredContent"]["message"] == "hello"
