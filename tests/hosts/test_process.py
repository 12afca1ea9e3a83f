"""A host's program runs in a home of its own, and nothing of it remains."""

import os
import sys
from pathlib import Path

import pytest

from tests.hosts.process import Running, TooLong, home, running
from tests.waiting import HANG_GUARD, until

SHOW = "import os, sys; print('in', os.getcwd(), 'with', *sorted(os.environ), sys.stdin.isatty())"
# Starts a program in a session of its own, as a daemon does, and waits for ever.
LEAVE_BEHIND = (
    "import subprocess, sys, time\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3600)'], start_new_session=True)\n"
    "print('child', child.pid, 'started', flush=True)\n"
    "time.sleep(3600)"
)
ECHO = "print('ready', flush=True); print('got', input(), flush=True)"


def is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")
    return not (status.exists() and ") Z " in status.read_text())


def shows(run: Running, text: str) -> None:
    until(lambda: text in run.text())


@pytest.mark.parametrize("on_terminal", [True, False])
def test_a_program_gets_a_home_and_no_variable_of_ours(on_terminal: bool) -> None:
    with home() as folder, running([sys.executable, "-c", SHOW], folder, {"OWN": "1"}, on_terminal=on_terminal) as run:
        assert run.process.wait(HANG_GUARD) == 0
        shows(run, str(on_terminal))

        assert f"in{folder / 'work'}with" in run.text()
        assert f"HOME{'LC_CTYPE' if 'LC_CTYPE' in run.text() else ''}OWNPATHTMPDIR" in run.text()
    assert not folder.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="finds them in /proc")
def test_programs_that_left_the_group_are_ended_too() -> None:
    with home() as folder, running([sys.executable, "-c", LEAVE_BEHIND], folder, {}, on_terminal=False) as run:
        shows(run, "started")
        child = int(run.text().partition("child")[2].partition("started")[0])
        assert is_there(child)

    until(lambda: not is_there(child))
    assert run.process.poll() is not None


def test_keys_reach_the_program_on_a_terminal() -> None:
    with home() as folder, running([sys.executable, "-c", ECHO], folder, {}, on_terminal=True) as run:
        shows(run, "ready")

        run.press("yes", "\r")

        assert run.process.wait(HANG_GUARD) == 0
        shows(run, "gotyes")


def test_what_never_comes_ends_with_a_word_of_what_it_was() -> None:
    command = [sys.executable, "-c", LEAVE_BEHIND]

    with (
        home() as folder,
        running(command, folder, {}, on_terminal=False) as run,
        pytest.raises(TooLong, match="a form: not within 0 s"),
    ):
        run.until("a form", lambda: False, 0)


def test_an_interrupt_is_that_of_a_terminal() -> None:
    with home() as folder, running([sys.executable, "-c", LEAVE_BEHIND], folder, {}, on_terminal=False) as run:
        shows(run, "started")

        run.interrupt()

        assert run.process.wait(HANG_GUARD) != 0
        shows(run, "KeyboardInterrupt")
