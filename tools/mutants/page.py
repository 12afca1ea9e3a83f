"""docs/mutants.md: the scores, which suites found the mutants, and each mutant that no test found."""

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tools.mutants.mutations import ROOT, changes_of
from tools.mutants.trying import suite_of

PAGE: Final = ROOT / "docs/mutants.md"
EQUIVALENT: Final = Path(__file__).with_name("equivalent.csv")
"""Mutants that behave as the kit does, each with why: file, the lines taken out and put in, why."""

Row = Mapping[str, Any]
"""A mutant as trying.py writes it."""

HEAD: Final = """\
# Which small changes of the kit the tests find

`make mutants` changes one expression or statement of the kit at a time
(a mutant, made by [mutmut](https://github.com/boxed/mutmut)) and runs the tests that reach it, until one fails.
A mutant that no test finds shows a rule that nothing proves, or code that nobody needs.

    make mutants                                             # 2,000 mutants of the core
    make mutants ARGS='--modules server aws --sample 300'    # of other folders of the kit
    make mutants ARGS='--only tasks/runs.py:169 --tests tests/unit/tasks'
    make mutants ARGS=--page                                 # write this page again

The tests are those of `make test` that run in one process.
What only a server in a process of its own, a browser or a long test would find counts as not found here.
Changes outside of functions (constants, class bodies, defaults of parameters) are left out,
because the code of functions is replaced in a running process.
A function that only imports run is not replaced in time either: `tools/mutants/equivalent.csv` explains those by hand,
and mutants that behave as the kit does.

"""


@dataclass(frozen=True)
class Equivalents:
    """The mutants that were judged by hand."""

    why: Mapping[tuple[str, str], str]

    def of(self, row: Row) -> str | None:
        """Return why a mutant behaves as the kit does; None if nobody has said so."""
        return self.why.get((_file(row), _short(row["difference"])))


def equivalents() -> Equivalents:
    """Read what was judged by hand."""
    with EQUIVALENT.open(encoding="utf-8", newline="") as file:
        return Equivalents({(row["file"], row["difference"]): row["why"] for row in csv.DictReader(file)})


def latest(lines: Iterable[str]) -> list[Row]:
    """Return the last result of each mutant, in the order of modules, files and lines."""
    rows: dict[str, Row] = {row["mutant"]: row for row in map(json.loads, lines)}
    return sorted(rows.values(), key=lambda row: (row["module"], _file(row), row["line"], row["mutant"]))


def page(rows: Sequence[Row], known: Equivalents, size_of: Callable[[str], int] = changes_of) -> str:
    """Return the page; `size_of` counts the mutants of a module."""
    return HEAD + "\n".join([*_scores(rows, known, size_of), "", *_suites(rows), "", *_survivors(rows, known), ""])


def score(rows: Sequence[Row], known: Equivalents) -> float:
    """Return the share of mutants that are found, of those that could be."""
    judged = [row for row in rows if not (row["outcome"] in NOT_FOUND and known.of(row))]
    return sum(row["outcome"] not in NOT_FOUND for row in judged) / len(judged) if judged else 1.0


NOT_FOUND: Final = ("survived", "unreached")


def _scores(rows: Sequence[Row], known: Equivalents, size_of: Callable[[str], int]) -> list[str]:
    lines = [
        "## Scores",
        "",
        f"{len(rows):,} mutants were tried.",
        "",
        "| module | mutants | tried | found by a failure | by not ending | not found | of these explained | score |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for module in dict.fromkeys(row["module"] for row in rows):
        ours = [row for row in rows if row["module"] == module]
        outcomes = Counter(row["outcome"] for row in ours)
        missed = [row for row in ours if row["outcome"] in NOT_FOUND]
        same = sum(known.of(row) is not None for row in missed)
        cells = [module, size_of(module), len(ours), outcomes["killed"], outcomes["hung"], len(missed), same]
        lines.append(f"| {' | '.join(map(str, cells))} | {score(ours, known):.1%} |")
    return lines


def _suites(rows: Sequence[Row]) -> list[str]:
    first = Counter(suite_of(row["killers"][0]) for row in rows if row["killers"])
    lines = [
        "## Which suite found them first",
        "",
        "The quickest files run first.",
        "",
        "| suite | mutants |",
        "|---|---|",
    ]
    return [*lines, *(f"| `{suite}` | {count} |" for suite, count in first.most_common())]


def _survivors(rows: Sequence[Row], known: Equivalents) -> list[str]:
    missed = [row for row in rows if row["outcome"] in NOT_FOUND]
    lines = ["## Not found", "", "| mutant | change | why |", "|---|---|---|"]
    for row in missed:
        why = known.of(row) or ("no test of these reaches it" if row["outcome"] == "unreached" else "")
        change = _short(row["difference"]).replace("|", "\\|")
        lines.append(f"| {row['mutant']} (line {row['line']}) | `{change}` | {why} |")
    return lines


def _file(row: Row) -> str:
    return str(row["mutant"]).partition(":")[0]


def _short(difference: Sequence[str]) -> str:
    """Return a difference in one line."""
    return " ".join(f"{line[0]} {line[1:].strip()}" for line in difference)
