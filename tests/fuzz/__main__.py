"""Fuzz the targets in sequence, and print the outcomes: `make fuzz`.

    python -m tests.fuzz [--seconds 600] [TARGET]...

Failing inputs are written to `.fuzz/TARGET/found/`, and the run fails. Inputs that reach new code are kept in
`.fuzz/TARGET/corpus/`, with which the next run starts.
"""

import argparse
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from tests.fuzz.targets import TARGETS, WORDS, finds

KEPT: Final = Path(".fuzz")
LARGEST_INPUT: Final = 32_768  # bytes
MOST_MEMORY: Final = 768  # MB, of the whole process
_STATISTIC: Final = re.compile(r"stat::(\w+):\s+(\d+)")
_REACHED: Final = re.compile(r"cov: (\d+) ft: (\d+) corp: (\d+)/(\S+)")


@dataclass(frozen=True)
class Outcome:
    """The outcome of fuzzing one target."""

    target: str
    executions: str
    per_second: str
    edges: str
    features: str
    corpus: str
    memory: str
    slowest: str
    found: int

    def row(self) -> str:
        """Return a row of the table in docs/fuzzing.md."""
        reached = (self.edges, self.features, self.corpus, f"{self.memory} MB", self.slowest)
        return f"| {' | '.join((self.target, self.executions, self.per_second, *reached, str(self.found)))} |"


def main() -> int:
    """Fuzz the targets; return 1 if an input failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; all of them if none")
    parser.add_argument("--seconds", type=int, default=600, help="for all targets together")
    options = parser.parse_args()
    if find_spec("atheris") is None:
        parser.error("the fuzzer, atheris, is there for Linux on x86-64 only; `make test` tries the targets without it")
    names: list[str] = options.targets or list(TARGETS)
    outcomes = [fuzzed(name, options.seconds // len(names)) for name in names]
    print("| target | executions | a second | edges | features | corpus | memory | slowest | found |")
    print("|---|---|---|---|---|---|---|---|---|")
    print("\n".join(outcome.row() for outcome in outcomes))
    return int(any(outcome.found for outcome in outcomes))


def fuzzed(name: str, seconds: int) -> Outcome:
    """Fuzz one target for some time, or until an input fails."""
    folder = KEPT / name
    seeds, corpus, found = (folder / part for part in ("seeds", "corpus", "found"))
    for path in (seeds, corpus, found):
        path.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate((*TARGETS[name].seeds(), *(path.read_bytes() for path in finds(name)))):
        (seeds / str(number)).write_bytes(seed)
    words = folder / "words"
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in WORDS), encoding="ascii")
    before = set(found.iterdir())
    command = [
        *(sys.executable, "-m", "tests.fuzz.engine", name, str(folder / "slowest")),
        *(f"-max_total_time={seconds}", f"-max_len={LARGEST_INPUT}", f"-rss_limit_mb={MOST_MEMORY}", "-timeout=10"),
        *(
            "-print_final_stats=1",
            "-mutate_depth=2",
            "-cross_over=0",
            f"-dict={words}",
            f"-artifact_prefix={found}/",
            str(corpus),
            str(seeds),
        ),
    ]
    log = folder / "log"
    with log.open("w") as output:
        environment = {**os.environ, "POWERTOOLS_SERVICE_NAME": "fuzz", "PYTHONHASHSEED": "0"}
        code = subprocess.run(command, stdout=output, stderr=output, env=environment, check=False).returncode
    new = sorted(set(found.iterdir()) - before)
    if code or new:
        print(f"{name}: found {', '.join(map(str, new)) or 'something'}; see {log}", file=sys.stderr)
    return _outcome(name, log.read_text(errors="replace"), folder, len(new) or int(code != 0))


def _outcome(name: str, log: str, folder: Path, found: int) -> Outcome:
    statistics = dict(_STATISTIC.findall(log))
    edges, features, inputs, size = (_REACHED.findall(log) or [("?", "?", "?", "?")])[-1]
    slowest = next(iter(folder.glob("slowest.*")), Path("slowest.under 5ms"))
    return Outcome(
        target=name,
        executions=statistics.get("number_of_executed_units", "?"),
        per_second=statistics.get("average_exec_per_sec", "?"),
        edges=edges,
        features=features,
        corpus=f"{inputs} inputs, {size}",
        memory=statistics.get("peak_rss_mb", "?"),
        slowest=slowest.suffix.removeprefix(".").replace("ms", " ms"),
        found=found,
    )


def _escaped(word: str) -> str:
    """Escape a word for a dictionary of libFuzzer."""
    octets = word.encode()
    return "".join(chr(one) if 32 <= one < 127 and one not in b'"\\' else f"\\x{one:02x}" for one in octets)


if __name__ == "__main__":
    sys.exit(main())
