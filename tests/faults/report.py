"""The outcomes of the faults: one row each in `outcomes.csv`, and a table for readers in `docs/reliability.md`.

`python -m tests.faults` writes both, and the tests compare both with the actual outcomes.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Final

from tests.faults.cases import ITSELF, Case, Outcome, cases

OUTCOMES: Final = Path(__file__).parent / "outcomes.csv"
DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "reliability.md"
BEGIN: Final = "<!-- faults: written by `python -m tests.faults` -->\n"
END: Final = "<!-- end of faults -->\n"
_COLUMNS: Final = ("case", "saw", "returning", "gone")
_UNNOTICED: Final = Outcome("result", ITSELF, ITSELF)
_HEAD: Final = (
    "| operation | call | fault | seen by the caller | repaired by, if the caller returns | repaired by, if not |\n"
    "|---|---|---|---|---|---|\n"
)


def read_outcomes() -> dict[str, Outcome]:
    """Read the committed outcomes, by case."""
    with OUTCOMES.open(encoding="utf-8", newline="") as file:
        return {row["case"]: Outcome(row["saw"], row["returning"], row["gone"]) for row in csv.DictReader(file)}


def write_outcomes(found: Mapping[str, Outcome]) -> None:
    """Write the outcomes to the file and to the document."""
    with OUTCOMES.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        writer.writerows((case, one.saw, one.returning, one.gone) for case, one in found.items())
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCUMENT.write_text(f"{before}{BEGIN}{table(found)}{END}{after}", encoding="utf-8")


def shown() -> str:
    """Return the table in the document."""
    return DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]


def table(found: Mapping[str, Outcome]) -> str:
    """Return the table: faults of one call with the same outcome share a row; faults without an effect have none."""
    return _HEAD + "".join(f"| {' | '.join(cells)} |\n" for cells in _rows(found))


def _rows(found: Mapping[str, Outcome]) -> Iterator[tuple[str, ...]]:
    for (operation, step), some in groupby(cases(), key=lambda case: (case.operation.name, case.step)):
        for outcome, alike in _alike(some, found).items():
            if outcome != _UNNOTICED:
                yield operation, step, "; ".join(alike), outcome.saw, outcome.returning, outcome.gone


def _alike(some: Iterable[Case], found: Mapping[str, Outcome]) -> dict[Outcome, list[str]]:
    alike: dict[Outcome, list[str]] = {}
    for case in some:
        alike.setdefault(found[str(case)], []).append(case.fault)
    return alike
