"""Run the model for as long as you like: `python -m tests.model --steps N`; `--seed` repeats an earlier run."""

import argparse
import secrets
import time
from collections import Counter
from typing import Final

from tests.model.machine import Machine
from tests.model.profile import explore
from tests.model.stack import simulated_account

_AT_ONCE: Final = 5_000  # steps; the counts are printed after each


def main() -> None:
    """Run the model and print how often each move was made."""
    parser = argparse.ArgumentParser(prog="python -m tests.model", description=__doc__)
    parser.add_argument("--steps", type=int, default=200_000, help="how many steps at least (%(default)s)")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32), help="of an earlier run (a new one)")
    options = parser.parse_args()
    steps: int = options.steps
    print(f"--seed={options.seed}", flush=True)
    counted, began = Counter[str](), time.monotonic()
    with simulated_account() as account:
        Machine.account = account
        while counted["steps"] < steps:
            counted += explore(
                min(_AT_ONCE, steps - counted["steps"]),
                name=f"From{counted['steps']}",
                shrinks=True,
                seed_of_all=options.seed,
            )
            print(f"{counted['steps']:,} steps in {time.monotonic() - began:,.0f} s", flush=True)
    print(", ".join(f"{name}: {count:,}" for name, count in sorted(counted.items())))
    print(f"calls to AWS: {account.boundary.calls:,}")


if __name__ == "__main__":
    main()
