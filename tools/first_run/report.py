"""The table that the run writes, in Markdown, and which sentences may change now."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tools.first_run.removal import Left
from tools.first_run.table import NOT_TRIED
from tools.first_run.trial import Seen, Trial, Verdict


@dataclass(frozen=True)
class Row:
    """A trial, and what it saw; None: the run ended before it."""

    trial: Trial
    seen: Seen | None


@dataclass(frozen=True)
class Head:
    """Where and when a run was."""

    at: datetime
    region: str
    version: str
    prefix: str
    is_emulated: bool


def report(head: Head, rows: Sequence[Row], left: Sequence[Left]) -> str:
    """Return the page."""
    where = "an emulated AWS, which proves nothing about AWS" if head.is_emulated else f"AWS, {head.region}"
    return "\n".join(
        [
            "# The first run",
            "",
            f"{head.at:%Y-%m-%d %H:%M} UTC, {where}; release {head.version}; names begin with {head.prefix}.",
            "",
            "| trial | what was done | expected | result | evidence |",
            "|---|---|---|---|---|",
            *(_line(head, row) for row in rows),
            "",
            "## Sentences that may change now",
            "",
            *(_changes(head, rows) or ["None."]),
            "",
            "## Not tried by this command",
            "",
            *(f"- {one.page}{one.words and f', “{one.words}”'}: {why}." for one, why in NOT_TRIED.items()),
            "",
            "## What is left in the account",
            "",
            *([f"- {one.made.kind} {one.made.name} ({one.why}): `{one.command}`" for one in left] or [_NOTHING]),
            "",
        ]
    )


_NOTHING = (
    "Nothing but what AWS deletes later by itself: the key (after 7 days), traces (30 days) and metrics (15 months)."
)


def result(head: Head, seen: Seen | None) -> str:
    """Return the result of a row, which says if AWS was emulated."""
    word = (seen.verdict if seen else Verdict.NOT_HERE).value
    return f"emulated: {word}" if head.is_emulated else word


def _line(head: Head, row: Row) -> str:
    evidence = row.seen.evidence if row.seen else "the run ended before it"
    cells = (row.trial.name, row.trial.does, row.trial.expects, result(head, row.seen), evidence)
    return f"| {' | '.join(' '.join(cell.split()).replace('|', '/') for cell in cells)} |"


def _changes(head: Head, rows: Sequence[Row]) -> list[str]:
    if head.is_emulated:
        return []
    return [
        f"- {one.page}, “{' '.join(one.words.split())}”: {row.seen.verdict.value} ({row.trial.name})"
        for row in rows
        if row.seen and row.seen.verdict is not Verdict.NOT_HERE
        for one in row.trial.sentences
    ]
