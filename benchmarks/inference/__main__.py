"""Measure what `stepwire wrap` infers: on inputs held back, on the definitions of a folder, and on whole projects.

    python -m benchmarks.inference [FOLDER | --projects FOLDER]

The folder has definitions (*.json, *.yaml, *.yml), in any order of folders; or projects, each in a folder of its own,
with templates, code and READMEs. Nothing is sent anywhere, and nothing of the projects is run.
"""

import argparse
from pathlib import Path
from typing import Final

from benchmarks.inference import definitions, projects
from benchmarks.inference.held_back import mean_shares
from benchmarks.inference.workloads import WORKLOADS

RUNS: Final = (0, 3, 20, 100)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.inference", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--projects", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    for folder, measured in ((given.folder, definitions.measured), (given.projects, projects.measured)):
        if folder is not None:
            for line in measured(folder):
                print(line)
            return
    print("| workflow |" + "".join(f" {runs} runs: accepted, refused |" for runs in RUNS))
    print("|---|" + "---|" * len(RUNS))
    for workload in WORKLOADS:
        found = [mean_shares(workload, runs) for runs in RUNS]
        print(f"| {workload.name} |" + "".join(f" {one.accepted:.1%}, {one.refused:.1%} |" for one in found))


if __name__ == "__main__":
    main()
