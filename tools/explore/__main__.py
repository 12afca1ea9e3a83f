"""Run the property tests with new examples: `make explore`, for as long as you like.

Each round uses a new seed for all property tests and for a part of the model. If a round fails, its output is kept in
`.stepwire/explore/SEED.log`, with the command that repeats it.
"""

import argparse
import secrets
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

REPORTS: Final = Path(".stepwire/explore")
MODEL_STEPS: Final = 1_000


def commands(seed: int) -> list[list[str]]:
    """Return the commands of one round; the same seed gives the same commands."""
    chosen = ["-m", "hypothesis and not deployed", "--hypothesis-profile=explore", f"--hypothesis-seed={seed}"]
    return [
        [sys.executable, "-m", "pytest", "-n", "2", *chosen],
        [sys.executable, "-m", "tests.model", f"--steps={MODEL_STEPS}", f"--seed={seed}"],
    ]


def explore(rounds: Sequence[Sequence[str]], seed: int) -> bool:
    """Run one round; return whether all commands succeeded, and keep the output of those that failed."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    log, went_well = REPORTS / f"{seed}.log", True
    for command in rounds:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            went_well = False
            with log.open("a", encoding="utf-8") as report:
                report.write(f"$ {' '.join(command)}\n{done.stdout}\n")
            print(f"seed {seed}: failed; see {log}", flush=True)
    return went_well


def main() -> int:
    """Run rounds until the time is over; return 1 if a round failed."""
    parser = argparse.ArgumentParser(prog="make explore", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=600, help="begin no round after so many (%(default)s)")
    parser.add_argument("--seed", type=int, help="run one round with this seed only")
    options = parser.parse_args()
    if options.seed is not None:
        return int(not explore(commands(options.seed), options.seed))
    end, results = time.monotonic() + options.seconds, list[bool]()
    while not results or time.monotonic() < end:
        seed = secrets.randbelow(2**32)
        results.append(explore(commands(seed), seed))
        print(f"{len(results)} rounds, {results.count(False)} failed; the newest seed is {seed}", flush=True)
    return int(not all(results))


if __name__ == "__main__":
    sys.exit(main())
