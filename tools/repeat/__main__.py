"""Run `make test` repeatedly, every other time while all cores are busy: `make repeat`.

A test that depends on chance or on the speed of the machine fails here sooner or later. Each run's line says how much
of the cores everything else on the machine took. The output of a failed run is kept in `.stepwire/repeat/`.
"""

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

PROCESSOR_TIMES: Final = Path("/proc/stat")
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


def seconds_of_all() -> float:
    """Return the seconds of processor time that this machine has used since it started; 0 where Linux is not."""
    if not PROCESSOR_TIMES.exists():
        return 0
    _cpu, *fields = PROCESSOR_TIMES.read_text().splitlines()[0].split()
    user, nice, system, _idle, _waits, interrupts, soft_interrupts, *_ = map(int, fields)
    return (user + nice + system + interrupts + soft_interrupts) / os.sysconf("SC_CLK_TCK")


def seconds_of_ours() -> float:
    """Return the seconds of processor time of the commands that have been run and waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(command: Sequence[str], number: int, *, is_busy: bool) -> bool:
    """Run the command once, print its outcome, and return whether it succeeded."""
    began, all_before, ours_before = time.monotonic(), seconds_of_all(), seconds_of_ours()
    with busy_cores((os.cpu_count() or 1) if is_busy else 0):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        took, ours = time.monotonic() - began, seconds_of_ours() - ours_before
        others = (seconds_of_all() - all_before - ours) / took / (os.cpu_count() or 1)
    if done.returncode:
        KEPT.mkdir(parents=True, exist_ok=True)
        (KEPT / f"{number}.log").write_text(done.stdout, encoding="utf-8")
    summary = next((line for line in reversed(done.stdout.splitlines()) if " passed" in line or " failed" in line), "")
    outcome = "ok" if done.returncode == 0 else f"FAILED, see {KEPT / f'{number}.log'}"
    cores = f"cores {'busy' if is_busy else 'free'}" + (f" ({others:.0%} others)" if PROCESSOR_TIMES.exists() else "")
    print(f"run {number:2}  {cores}  {took:5.0f} s  {outcome}  {summary}", flush=True)
    return done.returncode == 0


def main() -> int:
    """Run the command line; return 1 if a run failed."""
    parser = argparse.ArgumentParser(prog="make repeat", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=20, help="how many (%(default)s)")
    parser.add_argument(
        "--no-load", action="store_true", help="keep no core busy, also in every other run: something else does"
    )
    parser.add_argument("command", nargs="*", default=["make", "test"], help="what is run (make test)")
    options = parser.parse_args()
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores: {' '.join(options.command)}", flush=True)
    results = [
        run(options.command, number, is_busy=number % 2 == 0 and not options.no_load)
        for number in range(1, options.runs + 1)
    ]
    print(f"{len(results)} runs, {results.count(False)} failed")
    return int(not all(results))


if __name__ == "__main__":
    sys.exit(main())
