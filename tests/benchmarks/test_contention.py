"""Decision 40 shows what the simulation of calls at the same moment says."""

from benchmarks.contention import table
from tests.docs.pages import ROOT


def test_the_decision_shows_the_table() -> None:
    (record,) = (ROOT / "docs" / "decisions").glob("*-a-slot-and-a-task-stay-two-writes.md")

    assert table() in record.read_text(encoding="utf-8"), "python -m benchmarks.contention"
