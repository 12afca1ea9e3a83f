"""Record what this version stores and gives to clients: `python -m tests.upgrades 1`; docs/upgrades.md says when."""

import subprocess
import sys

from tests.upgrades.recording import simulated_table
from tests.upgrades.records import ALL


def main(number: str) -> None:
    """Write the record of a version."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    with simulated_table() as table:
        for one in ALL:
            one.write(int(number), commit.stdout.strip(), table)


if __name__ == "__main__":
    main(*sys.argv[1:])
