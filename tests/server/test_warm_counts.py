"""What a warm request allocates and calls, by counts that are the same on every run: no test looks at a clock.

The figures are those of Python 3.11, which needs most, with about a quarter to spare. A change that exceeds one makes
each request dearer: make it cheaper again, or raise the figure and say why.
"""

import json
import subprocess
import sys

import pytest

from tests.server.warm_counts import TIMES, Counts


@pytest.fixture(scope="module")
def counts() -> dict[str, Counts]:
    command = [sys.executable, "-m", "tests.server.warm_counts"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return {method: Counts(**counted) for method, counted in json.loads(done.stdout).items()}


@pytest.mark.parametrize(
    ("method", "most_bytes", "most_calls"),
    [("tools/list", 63_000, 750), ("tasks/get", 6_600, 235), ("tools/call", 10_300, 600)],
)
def test_a_warm_request_stays_within_its_counts(
    counts: dict[str, Counts], method: str, most_bytes: int, most_calls: int
) -> None:
    found = counts[method]

    assert found.peak_bytes <= most_bytes
    assert found.calls <= most_calls
    assert 2 * found.calls > most_calls  # a figure far above what is needed guards nothing


@pytest.mark.parametrize("method", ["tools/list", "tasks/get"])
def test_requests_keep_less_than_a_block_each(counts: dict[str, Counts], method: str) -> None:
    # Python itself keeps some two hundred blocks for the next objects.
    assert counts[method].kept_blocks < TIMES
