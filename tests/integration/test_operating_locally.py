"""An operator's command against a stack on this machine, typed as the start of `make run` and its page say."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from stepwire_local import LocalStack
from stepwire_local.operating import account_of
from stepwire_local.terminal.welcome import operators_lines
from tests.docs.pages import page
from tests.integration.stacks import ROOT
from tests.waiting import HANG_GUARD


@pytest.mark.long
def test_a_command_of_an_operator_works_as_the_start_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with LocalStack(ROOT / "stack.yaml", name="stepwire") as stack, account_of(stack) as account:
        _, export, command, _ = (line.strip() for line in operators_lines(stack, account))
        variables = dict(word.split("=", 1) for word in shlex.split(export)[1:])
        ours = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        words = [sys.executable, "-m", "stepwire_cli", *shlex.split(command)[1:]]

        done = subprocess.run(
            words, env=ours | variables, capture_output=True, text=True, timeout=HANG_GUARD, check=False
        )
        monkeypatch.chdir(tmp_path)
        _, _, elsewhere, _ = (line.strip() for line in operators_lines(stack, account))

    shown = page(ROOT / "docs" / "running_locally.md").commands
    assert {re.sub(r":\d+ ", ":3001 ", export), elsewhere} <= set(shown)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 messages, of which 0 stay in the queue.\n", "")
    assert command == f".venv/bin/{elsewhere}"
