"""What a question to others than the caller costs, step by step: `python -m benchmarks.extras.approvals [--update]`.

With --update, the table goes to docs/extras/approvals.md. tests/extras/approvals/test_cost.py holds the calls against
the fault matrix, where botocore makes them.
"""

import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from benchmarks.cost import prices
from benchmarks.cost.simulation import Assumptions, Step, Usage
from benchmarks.cost.tables import table
from benchmarks.page import write_parts
from tests.cold_start import ROOT

PAGE: Final = ROOT / "docs/extras/approvals.md"
QUESTIONS: Final = 1_000
_ASKED: Final = ("GetItem", "PutItem")
_LISTED: Final = ("GetItem", "TransactWriteItems", "PutEvents")
_VOTE: Final = ("GetItem", "PutItem", "SendTaskSuccess", "PutItem")


@dataclass(frozen=True)
class Part:
    """What happens to a question, in one or more invocations."""

    calls: tuple[tuple[str, ...], ...]
    """The calls of each invocation."""
    over_http: bool = False


PARTS: Final[Mapping[str, Part]] = {
    "asked, and listed for its approvers": Part((_ASKED, _LISTED)),
    "announced again after four hours": Part((_ASKED, ("PutEvents",))),
    "listed by `approvals_list`": Part((("BatchGetItem", "Query", "BatchGetItem"),), over_http=True),
    "decided by `approval_answer`, in two rounds": Part((("GetItem",), ("GetItem", *_VOTE)), over_http=True),
    "decided on the page, opened once": Part((("GetItem",), ("GetItem", *_VOTE)), over_http=True),
    "taken off the list once it is closed": Part((("TransactWriteItems", "PutEvents"),)),
}
"""In the order in which they happen."""


def dollars(part: Part) -> float:
    """Return the cost of this part of a thousand questions, if each change of the stream is a batch of its own."""
    assumed = Assumptions()
    steps = [Step(calls, 1, assumed.ended_item, over_http=part.over_http) for calls in part.calls]
    usage = Usage({step: float(steps.count(step) * QUESTIONS) for step in steps}, 0, assumed)
    return sum(usage.dollars().values()) + prices.CUSTOM_EVENT.of(usage.calls("PutEvents"))


def costs() -> str:
    """Return the table of what a thousand questions cost."""
    rows = [[name, _counted(part), f"{dollars(part):.4f}"] for name, part in PARTS.items()]
    return table(["a question is", "calls", "US dollars a thousand"], rows)


def _counted(part: Part) -> str:
    counts = Counter(call for calls in part.calls for call in calls)
    return ", ".join(f"{count} {call}" if count > 1 else call for call, count in counts.items())


def main() -> None:
    """Print the table, and write it into the page if that is asked for."""
    sys.stdout.write(costs())
    if "--update" in sys.argv:
        write_parts({"questions to others": costs()}, {}, PAGE)


if __name__ == "__main__":
    main()
