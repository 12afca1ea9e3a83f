"""The order of the test files: those that take longest come first, so that no worker is still busy with one at the end.

Their times are in tests/longest_first.csv, in seconds of `make test ALL=1` on two cores. A file belongs there when it
takes 20 seconds or more.
"""

import csv
from collections import Counter
from pathlib import Path
from typing import Final

_TIMES: Final = Path(__file__).with_suffix(".csv").read_text(encoding="utf-8")
SECONDS: Final = {row["file"]: int(row["seconds"]) for row in csv.DictReader(_TIMES.splitlines())}


def in_order(files: list[str]) -> list[int]:
    """Return the positions of the tests in the order to run them, given the file of each.

    After the files with a known time, those with the most tests come first. The tests of a file keep their order.
    """
    tests = Counter(files)
    return sorted(range(len(files)), key=lambda at: (-SECONDS.get(files[at], 0), -tests[files[at]], files[at]))
