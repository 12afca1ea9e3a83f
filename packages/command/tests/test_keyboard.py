"""No Ctrl-C is lost: it is sent at every instruction of a prompt, just before the wait, and to another thread."""

import asyncio
import os
import select
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Final, Self

import pytest
from mcp_types import ElicitRequestFormParams

from stepwire_cli import keyboard
from stepwire_cli.keyboard import Keyboard, LeftOpen, Typed
from stepwire_cli.screen import Screen
from stepwire_cli.use import questions
from stepwire_cli.use.questions import Person
from tests.waiting import HANG_GUARD

FOLDER: Final = Path(__file__).parents[1]
MANY: Final = 50  # instructions: a smaller number would mean that the prompt was not followed
_SELECT: Final = select.select
FILES: Final = {keyboard.__file__, questions.__file__}
# The main thread lets SIGINT pass to another thread, which sends it when the main thread sleeps in a system call.
ELSEWHERE: Final = """
import asyncio, os, pathlib, signal, sys, threading
from stepwire_cli.keyboard import Keyboard, LeftOpen, signals_wake_the_loop

def send():
    waits.wait()
    state = pathlib.Path(f"/proc/self/task/{os.getpid()}/stat")
    while state.exists() and state.read_text().rpartition(")")[2].split()[0] != "S":
        pass
    os.kill(os.getpid(), signal.SIGINT)

async def sleep():
    with signals_wake_the_loop():
        waits.set()
        await asyncio.get_running_loop().create_future()

waits = threading.Event()
threading.Thread(target=send, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
try:
    if sys.argv[1] == "loop":
        asyncio.run(sleep())
    waits.set()
    Keyboard().line()
except (LeftOpen, KeyboardInterrupt) as error:
    print(type(error).__name__)
"""


@dataclass
class Attempt:
    """A prompt that is met by one SIGINT: at an instruction, or else just before it waits for a line."""

    at: int
    is_typed: bool
    seen: int = 0
    is_sent: bool = False
    passed: int = 0
    """How many signals the handler from before the prompt got."""
    line: str | None = None

    def run(self) -> Self:
        """Ask."""
        reads, self.types = os.pipe()
        if self.is_typed:
            os.write(self.types, b"yes\n")
        person = Person(Screen(as_json=False), leave, keyboard=Keyboard(Typed(reads)))
        before, tracing = signal.signal(signal.SIGINT, self._passes), sys.gettrace()
        sys.settrace(self._trace)
        try:
            self.line = asyncio.run(person.line("> "))
        except LeftOpen:
            pass
        finally:
            sys.settrace(tracing)
            signal.signal(signal.SIGINT, before)
            os.close(self.types)
        return self

    def wait(self, *files: Any) -> Any:
        """Stand for `select`: if nothing would ever end the wait, send the signal now."""
        sys.settrace(None)
        if not self.is_typed and not self.is_sent:
            self._send()
        return _SELECT(*files)

    def _send(self) -> None:
        self.is_sent = True
        os.kill(os.getpid(), signal.SIGINT)

    def _passes(self, _number: int, _frame: object) -> None:
        self.passed += 1
        os.write(self.types, b"later\n")

    def _trace(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if frame.f_code.co_filename not in FILES:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.seen += 1
            if self.seen == self.at:
                self._send()
        return self._trace


async def leave() -> None:
    """Do nothing."""


@pytest.mark.parametrize("is_typed", [False, True], ids=["nothing is typed", "a line is typed"])
def test_a_signal_at_any_instruction_of_a_prompt_is_met(monkeypatch: pytest.MonkeyPatch, *, is_typed: bool) -> None:
    attempts = list[Attempt]()
    while not attempts or attempts[-1].seen >= attempts[-1].at:
        attempt = Attempt(len(attempts) + 1, is_typed)
        monkeypatch.setattr(keyboard.select, "select", attempt.wait)
        attempts.append(attempt.run())

    assert not [one.at for one in attempts if one.is_sent and one.line is not None and not one.passed]
    assert [one for one in attempts if one.line is None], "some were met by the prompt"
    assert [one for one in attempts if one.passed], "some were met before it, or after it"
    assert len(attempts) > MANY


def test_a_question_that_comes_after_ctrl_c_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    left = list[bool]()

    async def note() -> None:
        left.append(True)

    monkeypatch.setattr(Screen, "is_interactive", True)
    reads, types = os.pipe()
    os.close(types)
    person = Person(Screen(as_json=False), note, lambda: True, Keyboard(Typed(reads)))
    params = ElicitRequestFormParams(message="Go on?", requested_schema={"type": "object", "properties": {}})
    monkeypatch.setattr(Person, "line", None)

    with pytest.raises(LeftOpen):
        asyncio.run(person.elicit(params))

    assert left == [True]


@pytest.mark.parametrize("is_typed", [False, True])
def test_lines_are_read_one_at_a_time_to_the_end(*, is_typed: bool) -> None:
    reads, types = os.pipe()
    os.write(types, b"one\ntwo\n" if is_typed else b"")
    os.close(types)
    keys = Keyboard(Typed(reads))

    assert [keys.line() for _ in range(2 * is_typed)] == (["one", "two"] if is_typed else [])
    with pytest.raises(LeftOpen):
        keys.line()


@pytest.mark.parametrize(("waits", "left"), [("line", "LeftOpen"), ("loop", "KeyboardInterrupt")])
def test_a_signal_that_another_thread_receives_is_met(waits: str, left: str) -> None:
    command = [sys.executable, "-c", ELSEWHERE, waits]
    with subprocess.Popen(command, cwd=FOLDER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            ready, _, _ = _SELECT([process.stdout], [], [], HANG_GUARD)
            assert ready, "the signal was lost"
            assert process.stdout.read() == f"{left}\n"
        finally:
            process.kill()
