"""Test runs use the same examples each time, and fail if a test does."""

import os
import socket
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.longest_first import SECONDS, in_order
from tests.ports import free_port
from tests.waiting import HANG_GUARD

ROOT: Final = Path(__file__).parents[1]
BAD: Final = """
import pytest


@pytest.fixture
def begins_badly():
    raise ValueError


@pytest.fixture
def ends_badly():
    yield
    raise ValueError


def test_fails():
    assert False


def test_begins_badly(begins_badly):
    pass


def test_ends_badly(ends_badly):
    pass
"""


def examples() -> list[str]:
    """Return the examples that hypothesis draws for a property test."""
    drawn: list[str] = []

    @settings(max_examples=200)
    @given(st.text())
    def a_property(text: str) -> None:
        drawn.append(text)

    a_property()
    return drawn


def test_a_property_test_draws_the_same_examples_whichever_modules_are_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = examples()

    later = tmp_path / "loaded_later.py"
    later.write_text("\n".join(f"CONSTANT_{number} = 'constant {number}'" for number in range(100)))
    spec = spec_from_file_location("loaded_later", later)
    assert spec is not None
    monkeypatch.setitem(sys.modules, "loaded_later", module_from_spec(spec))

    assert examples() == first


def test_the_files_that_take_longest_come_first_and_each_keeps_its_order() -> None:
    longest, shorter = sorted(SECONDS, key=lambda file: -SECONDS[file])[:2]
    files = ["one.py", "two.py", "two.py", shorter, longest, longest]

    assert in_order(files) == [4, 5, 3, 1, 2, 0]


def test_each_file_with_a_known_time_exists() -> None:
    root = Path(__file__).parents[1]
    has_examples = (root / "tests/examples").exists()  # the reader's to delete, and so is what tests them in an extra

    known = [file for file in SECONDS if has_examples or "/examples/" not in file]

    assert [file for file in known if not (root / file).is_file()] == []


def test_a_port_is_given_once_and_the_system_gives_it_to_nobody_else() -> None:
    ports = [free_port() for _ in range(20)]

    assert len(set(ports)) == len(ports)
    assert max(ports) < 32_768
    for port in ports:
        socket.create_server(("127.0.0.1", port)).close()


@pytest.mark.parametrize("workers", [(), pytest.param(("-n", "1"), marks=pytest.mark.long)], ids=["none", "one"])
def test_what_goes_wrong_before_in_or_after_a_test_fails_the_run_also_if_a_test_has_started_it(
    tmp_path: Path, workers: tuple[str, ...]
) -> None:
    (tmp_path / "test_bad.py").write_text(BAD, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-p", "no:cacheprovider", *workers]
    inherited = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_XDIST_WORKER": "gw0"}

    ended = subprocess.run(
        command, cwd=tmp_path, env=inherited, capture_output=True, text=True, timeout=HANG_GUARD, check=False
    )

    assert ended.returncode == pytest.ExitCode.TESTS_FAILED
    assert "1 failed, 1 passed, 2 errors in" in ended.stdout
