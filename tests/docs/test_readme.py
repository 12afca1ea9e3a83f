"""The commands of README.md that call the local stack are run as they are shown."""

import subprocess
from typing import Final

from local import LocalStack
from tests.adopted import ADOPTER
from tests.docs.pages import ROOT, page
from tests.waiting import HANG_GUARD

CALLS: Final = ("export ", ".venv/bin/stepwire ")


def test_the_command_lists_and_calls_the_tools_as_shown() -> None:
    shown = [command for command in page(ROOT / "README.md").commands if command.startswith(CALLS)]

    with LocalStack(ROOT / "template.yaml", others=[ADOPTER]) as local:
        script = "\n".join(["set -e", *shown]).replace("http://127.0.0.1:3000/mcp", local.url)
        ended = subprocess.run(
            ["sh", "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=HANG_GUARD, check=False
        )

    assert ended.returncode == 0, ended.stderr
    assert "wait_and_echo" in ended.stdout
    assert '"message": "hello"' in ended.stdout
