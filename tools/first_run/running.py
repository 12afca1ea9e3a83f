"""Run the trials one after the other, and remove all in the end, also when the run is interrupted.

The rule: a trial that fails stops none; an interrupt stops the trials and begins the removal, which none stops.
"""

import signal
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Final

from tools.first_run.account import Account, Failed
from tools.first_run.clock import TooLong
from tools.first_run.removal import Left, Removal, remove_all
from tools.first_run.report import Row
from tools.first_run.trial import Seen, Trial, Verdict, not_here

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
Say = Callable[[str], object]


@dataclass
class Interrupts:
    """Ctrl-C and SIGTERM: the first ends the trials, the others are told that the removal goes on."""

    say: Say
    prefix: str
    is_removing: bool = False

    def __call__(self, _signal: int, _frame: FrameType | None) -> None:
        """Handle a signal.

        Raises:
            KeyboardInterrupt: it is the first, and nothing is removed yet.
        """
        if self.is_removing:
            self.say(f"the removal goes on; if it is killed: python -m tools.first_run --remove {self.prefix}")
            return
        self.is_removing = True
        raise KeyboardInterrupt

    @contextmanager
    def handled(self) -> Generator[None]:
        """Handle the signals in the block."""
        before = [signal.signal(one, self) for one in _SIGNALS]
        try:
            yield
        finally:
            for one, handler in zip(_SIGNALS, before, strict=True):
                signal.signal(one, handler)


def run(trials: Sequence[Trial], account: Account, say: Say) -> tuple[list[Row], list[Left]]:
    """Return what each trial saw, and what could not be removed."""
    rows = [Row(trial, None) for trial in trials]
    interrupts = Interrupts(say, account.prefix)
    with interrupts.handled():
        try:
            for number, trial in enumerate(trials):
                say(f"{number + 1} of {len(trials)}: {trial.name} ({trial.does}; about {trial.minutes} minutes)")
                rows[number] = Row(trial, seen := tried(trial, account))
                say(f"  {seen.verdict.value}: {seen.evidence}")
        except KeyboardInterrupt:
            say("interrupted: what was made is removed now")
        interrupts.is_removing = True
        left = remove_all(account.journal, Removal(account.calls, account.clock, account.screen, say))
    return rows, left


def tried(trial: Trial, account: Account) -> Seen:
    """Run one trial, and return what it saw, whatever happens."""
    try:
        with account.clock.limit(trial.most):
            return trial.run(account)
    except Failed as error:
        return Seen(Verdict.NOT_SO, " ".join(str(error).split()))
    except TooLong as error:
        return Seen(Verdict.NOT_SO, f"given up: {error}")
    except Exception as error:  # noqa: BLE001 - the next trial does not depend on it
        account.screen.say(traceback.format_exc())
        return not_here(f"it could not be tried: {type(error).__name__}: {error}")
