"""Inject every fault at every AWS call, and record the outcomes: `python -m tests.faults`. Takes some minutes.

With `--weather`, all calls of a run are at the mercy of a seed instead (`tests.faults.weather`).
"""

import argparse

from tests.faults.cases import cases, tried
from tests.faults.report import DOCUMENT, read_outcomes, write_outcomes, write_weather
from tests.faults.site import simulated_account
from tests.faults.weather import SEED, TASKS, Rates, Run


def main() -> None:
    """Write what was found into the documents; a run of weather with other figures than theirs is only shown."""
    read = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    read.add_argument("--new", action="store_true", help="only the cases that are not recorded yet")
    read.add_argument("--weather", action="store_true")
    read.add_argument("--seed", type=int, default=SEED)
    read.add_argument("--tasks", type=int, default=TASKS)
    read.add_argument("--refused", type=float, default=Rates.refused, help="share of the calls that are throttled")
    read.add_argument("--silent", type=float, default=Rates.silent, help="share that are done without an answer")
    read.add_argument("--services", nargs="+", default=Rates.services, help="whose calls meet the weather")
    given = read.parse_args()
    rates = Rates(given.refused, given.silent, tuple(given.services))
    with simulated_account() as account:
        if not given.weather:
            known = read_outcomes() if given.new else {}
            write_outcomes({str(case): known.get(str(case)) or tried(case, account) for case in cases()})
            print(f"written: {DOCUMENT}")
            return
        figures = Run(account, given.seed, given.tasks, rates).go()
    print(write_weather(figures, is_kept=(given.seed, given.tasks, rates) == (SEED, TASKS, Rates())))


if __name__ == "__main__":
    main()
