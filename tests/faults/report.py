"""The outcomes of the faults: one row each in `outcomes.csv`, and a table for readers in `docs/reliability.md`.

`python -m tests.faults` writes both, and the tests compare both with the actual outcomes.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from tests.faults.cases import ITSELF, Case, Outcome, cases
from tests.faults.weather import Figures

OUTCOMES: Final = Path(__file__).parent / "outcomes.csv"
DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "reliability.md"
BEGIN: Final = "<!-- faults: written by `python -m tests.faults` -->\n"
END: Final = "<!-- end of faults -->\n"
WEATHER_BEGIN: Final = "<!-- weather: written by `python -m tests.faults --weather` -->\n"
WEATHER_END: Final = "<!-- end of weather -->\n"
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


def write_weather(figures: Figures, *, is_kept: bool) -> str:
    """Return the table of a run in bad weather, and write it to the document if it is the run that is kept there."""
    table = _weather_table(figures)
    if is_kept:
        before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(WEATHER_BEGIN)
        _, _, after = rest.partition(WEATHER_END)
        DOCUMENT.write_text(f"{before}{WEATHER_BEGIN}{table}{WEATHER_END}{after}", encoding="utf-8")
    return table


def _weather_table(figures: Figures) -> str:
    rows = {
        "calls, each followed to its end": figures.tasks,
        "requests of clients": figures.requests,
        "answered with an error that says when to retry": figures.refused,
        "answered with any other error": figures.without_time,
        "lines of the log that are warnings": figures.weather,
        "lines of the log that are faults": figures.faults,
        "questions that a person was asked twice": figures.asked_twice,
        "workflows that failed because a question was not recorded": figures.failed_states,
        "lost, doubled, or with the result of another": figures.lost + figures.doubled + figures.mixed_up,
        "seconds from an accepted call to its execution: median, 95 %, longest": _spread(figures.begun_late),
        "seconds from an end until its client knew it: median, 95 %, longest": _spread(figures.ended_late),
    }
    return "| | |\n|---|---:|\n" + "".join(f"| {name} | {value} |\n" for name, value in rows.items())


def _spread(seconds: Sequence[float]) -> str:
    ordered = sorted(seconds)
    return ", ".join(f"{ordered[round(part * (len(ordered) - 1))]:.0f}" for part in (0.5, 0.95, 1))


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
