"""Measure cold starts: `python -m benchmarks.cold`. With --update, write docs/performance.md and its plots.

With --artifact, what is measured is a release and not the sources: `make bench-release`.
"""

import argparse
from pathlib import Path

from benchmarks.cold.pages import release_table, table, update, update_release
from benchmarks.cold.rounds import measure

ROUNDS = 15


def main() -> None:
    """Print the tables, or write them too."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"rounds that count (default: {ROUNDS})")
    parser.add_argument("--only", default="", help="measure only requests whose name contains this")
    parser.add_argument("--ours", action="store_true", help="leave the peers out")
    parser.add_argument("--update", action="store_true", help="write docs/performance.md and its plots")
    parser.add_argument("--artifact", type=Path, metavar="ZIP", help="measure this release, without the peers")
    options = parser.parse_args()
    artifact: Path | None = options.artifact
    has_peers = not (options.ours or artifact)
    found = measure(
        options.rounds, lambda request: options.only in request.name, has_peers=has_peers, artifact=artifact
    )
    print("\n".join(table(request, results) for request, results in found.values()))
    if artifact:
        print(release_table(found))
    if options.update and artifact:
        update_release(found, options.rounds, artifact)
    elif options.update:
        update(found, options.rounds)


if __name__ == "__main__":
    main()
