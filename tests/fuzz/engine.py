"""Run one target under the coverage-guided fuzzer; `python -m tests.fuzz` runs this for each, in a separate process.

    python -m tests.fuzz.engine TARGET SLOWEST [OPTION OF LIBFUZZER]... [FOLDER OF INPUTS]...

Only our package is instrumented: the fuzzer searches for paths through it, and everything else stays fast.
"""

import logging
import sys
from pathlib import Path
from random import Random
from typing import Any

import atheris as untyped  # pyright: ignore[reportMissingModuleSource] - of .venv-fuzz

atheris: Any = untyped  # the type stubs are for another version

with atheris.instrument_imports(include=["stepwire"]):
    from tests.fuzz.bounds import SLOWEST
    from tests.fuzz.targets import TARGETS, changed

WORTH_NOTING = 0.005  # seconds


def main(name: str, slowest: Path, *options: str) -> None:
    """Fuzz a target until its time is over or an input fails.

    Args:
        name: the target.
        slowest: the file for the slowest input; its name is completed with the milliseconds.
        options: libFuzzer's options.
    """
    target = TARGETS[name]
    target.seeds()
    noted = WORTH_NOTING

    def one(data: bytes) -> int:
        nonlocal noted
        is_possible = target.check(data)
        if SLOWEST.seconds > noted:
            noted = SLOWEST.seconds
            for old in slowest.parent.glob(f"{slowest.name}.*"):
                old.unlink()
            slowest.with_name(f"{slowest.name}.{round(noted * 1000)}ms").write_bytes(data)
        return 0 if is_possible else -1

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        return changed(data, most, Random(seed), atheris.Mutate)

    logging.disable()
    atheris.Setup([sys.argv[0], *options], one, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
