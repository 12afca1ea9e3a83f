"""The first run of an account, on the emulated AWS: whole, interrupted, and killed; it leaves nothing."""

import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from tests.deployed.emulator import ROOT, Emulator
from tests.deployed.stack import aws
from tools.first_run.table import TRIALS

PREFIX: Final = "stepwire-first-run-"
SO_HERE: Final = {"permissions to deploy", "a key of the endpoint's", "step-up", "another front door"}
"""Trials of what the emulator has. What it lacks, and so what the others see, is in not_served.py."""
_SECONDS: Final = 600
# Of each kind: the service, the operation without pages that matter, and where the names are.
_LISTS: Final = (
    ("dynamodb", "list_tables", "TableNames", ""),
    ("s3", "list_buckets", "Buckets", "Name"),
    ("iam", "list_roles", "Roles", "RoleName"),
    ("lambda", "list_functions", "Functions", "FunctionName"),
    ("logs", "describe_log_groups", "logGroups", "logGroupName"),
    ("stepfunctions", "list_state_machines", "stateMachines", "name"),
    ("ssm", "describe_parameters", "Parameters", "Name"),
    ("sqs", "list_queues", "QueueUrls", ""),
    ("events", "list_rules", "Rules", "Name"),
    ("apigatewayv2", "get_apis", "Items", "Name"),
    ("apigateway", "get_rest_apis", "items", "name"),
    ("secretsmanager", "list_secrets", "SecretList", "Name"),
    ("cloudwatch", "describe_alarms", "MetricAlarms", "AlarmName"),
)


@contextmanager
def begun(emulator: Emulator, *words: str) -> Generator[subprocess.Popen[str]]:
    """Begin the command in an environment of its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tools.first_run", "--yes", *words],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **emulator.credentials},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def said_until(process: subprocess.Popen[str], words: str) -> str:
    """Return what the command says, up to a line that begins with these words."""
    said = ""
    assert process.stdout is not None
    for line in process.stdout:
        said += line
        if line.startswith(words):
            return said
    raise AssertionError(f"the command has ended:\n{said}")


def left_in(emulator: Emulator) -> list[str]:
    """Return the names of what is left of a run."""
    names: list[Any] = [
        one[name] if name else one
        for service, operation, member, name in _LISTS
        for one in getattr(aws(service, emulator.credentials), operation)().get(member, ())
    ]
    stacks = aws("cloudformation", emulator.credentials).list_stacks()["StackSummaries"]
    names += [one["StackName"] for one in stacks if one["StackStatus"] != "DELETE_COMPLETE"]
    return [one for one in names if PREFIX in one]


def test_a_whole_run_writes_a_row_of_each_trial_and_leaves_nothing(
    emulator: Emulator, release: Path, tmp_path: Path
) -> None:
    with begun(emulator, "--release", str(release), "--folder", str(tmp_path)) as process:
        said, _ = process.communicate(timeout=_SECONDS)

    (page,) = tmp_path.glob("*.md")
    rows = [line.strip("| ").split(" | ") for line in page.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    results = {cells[0]: cells[3] for cells in rows[2:]}
    assert process.returncode == 0, said
    assert list(results) == [one.name for one in TRIALS]
    assert {result.partition(":")[0] for result in results.values()} == {"emulated"}
    assert {name for name in SO_HERE & results.keys() if results[name] != "emulated: so"} == set(), said
    assert left_in(emulator) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing(
    emulator: Emulator, release: Path, tmp_path: Path, number: signal.Signals
) -> None:
    only = ("--only", "tags", "--only", "an idle hour")
    with begun(emulator, "--release", str(release), "--folder", str(tmp_path), *only) as process:
        before = said_until(process, "2 of 2")
        there = left_in(emulator)
        process.send_signal(number)
        after, _ = process.communicate(timeout=_SECONDS)

    assert there, before
    assert (process.returncode, after.splitlines()[-1]) == (1, "Nothing is left."), after
    assert "an idle hour | nobody calls" in next(tmp_path.glob("*.md")).read_text(encoding="utf-8")
    assert left_in(emulator) == []


def test_what_a_killed_run_has_left_is_removed_later(emulator: Emulator, release: Path, tmp_path: Path) -> None:
    only = ("--only", "step-up", "--only", "an idle hour")
    with begun(emulator, "--release", str(release), "--folder", str(tmp_path), *only) as process:
        said_until(process, "2 of 2")
        process.kill()
    there = left_in(emulator)
    (journal,) = tmp_path.glob("*.jsonl")

    with begun(emulator, "--folder", str(tmp_path), "--remove", journal.stem) as process:
        said, _ = process.communicate(timeout=_SECONDS)

    assert there
    assert (process.returncode, said.splitlines()[-1]) == (0, "Nothing is left."), said
    assert left_in(emulator) == []
