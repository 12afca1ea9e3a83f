"""The commands of docs/calling_by_hand.md work unchanged, except for the port."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from local import LocalStack
from tests.adopted import ADOPTER
from tests.waiting import HANG_GUARD

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "calling_by_hand.md"


@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl, as the page does")
def test_each_command_of_the_page_is_answered() -> None:
    commands = "\n".join(re.findall(r"^    (.*)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE))

    with LocalStack(ROOT / "template.yaml", others=[ADOPTER]) as stack:
        script = commands.replace("http://127.0.0.1:3000/mcp", stack.url)
        ran = subprocess.run(
            ["/bin/sh", "-euc", script], capture_output=True, text=True, timeout=HANG_GUARD, check=False
        )

    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count('"taskId"') == 3, "the response of each call that creates a task"
    listed, modern, cancelled, asked, answered, refunded, legacy, result = (
        json.loads(line.removeprefix("data:")) for line in ran.stdout.splitlines() if '"jsonrpc"' in line
    )
    assert "wait_and_echo" in [tool["name"] for tool in listed["result"]["tools"]]
    assert modern["result"]["status"] in ("working", "completed")
    assert "result" in cancelled
    assert asked["result"]["inputRequests"]["approval"]["method"] == "elicitation/create"
    assert answered["result"]["resultType"] == "complete"
    assert refunded["result"]["result"]["structuredContent"]["refunded"] == "249.00"
    assert legacy["result"]["status"] in ("working", "completed")
    assert result["result"]["structuredContent"]["message"] == "hello"
