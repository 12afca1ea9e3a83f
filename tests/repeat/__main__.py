"""Run `make test` repeatedly, every other time while all cores are busy: `make repeat`.

A test that depends on chance or on the speed of the machine fails here sooner or later. The output of a failed run is
kept in `.stepwire/repeat/`.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

KEPT: Final = Path(".stepwire/repeat")
BUSY: Final = (sys.executable, "-c", "while True: pass")


@contextmanager
def busy_cores(count: int) -> Generator[None]:
    """Keep this many cores busy."""
    processes = [subprocess.Popen(BUSY) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def run(command: Sequence[str], number: int, *, is_busy: bool) -> bool:
    """Run the command once, print its outcome, and return whether it succeeded."""
    began = time.monotonic()
    with busy_cores((os.cpu_count() or 1) if is_busy else 0):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        KEPT.mkdir(parents=True, exist_ok=True)
        (KEPT / f"{number}.log").write_text(done.stdout, encoding="utf-8")
    summary = next((line for line in reversed(done.stdout.splitlines()) if " passed" in line or " failed" in line), "")
    cores = "busy" if is_busy else "free"
    outcome = "ok" if done.returncode == 0 else f"FAILED, see {KEPT / f'{number}.log'}"
    print(f"run {number:2}  cores {cores}  {time.monotonic() - began:5.0f} s  {outcome}  {summary}", flush=True)
    return done.returncode == 0


def main() -> int:
    """Run the command line; return 1 if a run failed."""
    parser = argparse.ArgumentParser(prog="make repeat", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=20, help="how many, every other one on busy cores (%(default)s)")
    parser.add_argument("command", nargs="*", default=["make", "test"], help="what is run (make test)")
    options = parser.parse_args()
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores: {' '.join(options.command)}", flush=True)
    results = [run(options.command, number, is_busy=number % 2 == 0) for number in range(1, options.runs + 1)]
    print(f"{len(results)} runs, {results.count(False)} failed")
    return int(not all(results))


if __name__ == "__main__":
    sys.exit(main())
