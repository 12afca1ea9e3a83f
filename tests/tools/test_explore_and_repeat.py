"""Explore and repeat run their commands again and again, and keep the output of those that fail."""

import sys
from pathlib import Path
from typing import Final

import pytest

from tools.explore import __main__ as explore
from tools.repeat import __main__ as repeat

SUCCEEDS: Final = [sys.executable, "-c", "pass"]
FAILS: Final = [sys.executable, "-c", "import sys; print('it broke'); sys.exit(3)"]


def test_a_round_with_the_same_seed_runs_the_same_commands() -> None:
    assert explore.commands(7) == explore.commands(7)
    assert all("seed=7" in " ".join(command) for command in explore.commands(7))


def test_a_round_that_fails_keeps_its_output_and_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explore, "REPORTS", tmp_path)

    assert explore.explore([SUCCEEDS], 1)
    assert not explore.explore([FAILS, SUCCEEDS], 2)

    assert [path.name for path in tmp_path.iterdir()] == ["2.log"]
    kept = (tmp_path / "2.log").read_text()
    assert "it broke" in kept
    assert FAILS[-1] in kept


def test_runs_repeat_on_free_and_on_busy_cores_and_the_output_of_a_failed_run_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(repeat, "KEPT", tmp_path)

    outcomes = [repeat.run(SUCCEEDS, 1, is_busy=False), repeat.run(FAILS, 2, is_busy=True)]

    assert outcomes == [True, False]
    first, second = capsys.readouterr().out.splitlines()
    assert "cores free" in first
    assert "cores busy" in second
    assert (tmp_path / "2.log").read_text() == "it broke\n"
