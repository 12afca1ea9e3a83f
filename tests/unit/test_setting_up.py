"""Setting up an environment, once: a progress bar, and one line that says what to do after a failure."""

import io
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Thread

import pytest

from requirements import environment
from requirements.install import explained, install, packages_in, progress
from tests.waiting import until

LOCK = """\
# made by make lock
annotated-types==0.8.0 \\
    --hash=sha256:0
rich==15.0.0 ; python_version > '3' \\
    --hash=sha256:1
"""
COLLECTING = ["Collecting annotated-types==0.8.0 (from -r dev.txt)\n", "  Using cached annotated_types.whl\n"]
NOT_FOUND = "ERROR: Could not find a version that satisfies the requirement a==1 (from versions: {})\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_packages_of_a_lock_are_counted() -> None:
    assert packages_in(LOCK) == 2


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ([], "[..............................] 0 of 2 packages"),
        (COLLECTING, "[###############...............] 1 of 2 packages"),
        (COLLECTING * 9, "[##############################] 9 of 2 packages"),
        ([*COLLECTING, "Installing collected packages: a, b\n"], "[##############################] unpacking"),
    ],
)
def test_a_bar_shows_the_progress(said: list[str], shown: str) -> None:
    assert progress(said, 2) == shown


@pytest.mark.parametrize(
    ("said", "first"),
    [
        (
            ["WARNING: Retrying: Failed to establish a new connection: [Errno -3]\n"],
            "cannot be fetched: check the network",
        ),
        (
            ["WARNING: ProxyError('Cannot connect to proxy.')\n"],
            "cannot be fetched: check the network, or set HTTPS_PROXY",
        ),
        ([NOT_FOUND.format("none")], "cannot be fetched: check the network"),
        (["SSLCertVerificationError: CERTIFICATE_VERIFY_FAILED\n"], "cannot be fetched: a certificate is not trusted."),
        ([NOT_FOUND.format("2, 3")], "cannot be installed. pip says:"),
        (["ERROR: No space left on device\n"], "cannot be installed. pip says:"),
    ],
)
def test_a_failure_begins_with_what_to_do(said: list[str], first: str) -> None:
    assert next(iter(explained(said))).startswith(f"The packages {first}")


@pytest.mark.parametrize(
    ("screen", "shows"), [(io.StringIO(), False), (Terminal(), True)], ids=["a pipe", "a terminal"]
)
def test_the_output_of_pip_is_used_for_the_bar_only(screen: io.StringIO, shows: bool) -> None:
    command = [sys.executable, "-c", "print('Collecting rich'); print('WARNING: Location is ignored')"]

    code = install(command, 2, screen)

    assert code == 0
    assert "Location" not in screen.getvalue()
    assert ("1 of 2 packages" in screen.getvalue()) is shows


def test_the_exit_code_of_pip_is_returned() -> None:
    screen = io.StringIO()

    code = install([sys.executable, "-c", "print('ERROR: no'); raise SystemExit(3)"], 2, screen)

    assert code == 3
    assert screen.getvalue() == "The packages cannot be installed. pip says:\nERROR: no\n"


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    """Return those of an environment and its lock."""
    (tmp_path / "dev.txt").write_text(LOCK)
    return [str(tmp_path / "env"), str(tmp_path / "dev.txt"), "--editable", "."]


def test_of_two_commands_that_need_an_environment_one_sets_it_up(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    codes, called = list[int](), list[Sequence[object]]()
    other = Thread(target=lambda: codes.append(environment.main(arguments)))

    def call(command: Sequence[object]) -> int:
        called.append(command)
        if len(called) == 1:
            other.start()
            until(lambda: "waiting for it" in capsys.readouterr().out)
            Path(arguments[0]).mkdir()
        return 0

    monkeypatch.setattr(subprocess, "call", call)
    codes.append(environment.main(arguments))
    other.join()

    assert codes == [0, 0]
    assert [list(map(str, command))[1:] for command in called] == [
        ["-m", "venv", arguments[0]],
        [str(environment.INSTALL), *arguments[1:]],
    ]


def test_an_environment_whose_installation_failed_is_set_up_again(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, results = Path(arguments[0]), iter([0, 3, 0, 0])

    def call(_: Sequence[object]) -> int:
        folder.mkdir(exist_ok=True)
        (folder / "half").touch()
        return next(results)

    monkeypatch.setattr(subprocess, "call", call)

    assert [environment.main(arguments) for _ in range(3)] == [3, 0, 0]
    assert next(results, None) is None
