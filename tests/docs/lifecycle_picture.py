"""The picture of a task's life in docs/how_it_works.md, made of the lifecycle's table.

    python -m tests.docs.lifecycle_picture    # writes it

The table has what each event leads to. Beside it, a call makes a task, and time closes the questions of one.
"""

import re
from collections import defaultdict
from typing import Final

from stepwire.tasks.lifecycle import TABLE, State
from tests.docs.pages import ROOT

PAGE: Final = ROOT / "docs" / "how_it_works.md"
BEGIN: Final = "<!-- lifecycle: written by `python -m tests.docs.lifecycle_picture` -->\n"
END: Final = "<!-- end of lifecycle -->\n"
BY_CALLS: Final = {State.WORKING: "call", State.UNCONFIRMED: "call of a tool with confirm"}
BY_TIME: Final = {State.INPUT_REQUIRED: State.WORKING, State.UNCONFIRMED: State.COMPLETED}
_FINAL: Final = (State.COMPLETED, State.FAILED, State.CANCELLED)


def picture() -> str:
    """Return the picture, as Mermaid draws it; an event that leaves the state as it is has no arrow."""
    arrows = defaultdict[tuple[State, State], list[str]](list)
    for event, row in TABLE.items():
        for source, targets in row.targets.items():
            for target in targets - {source}:
                arrows[source, target].append(_words(event.__name__))
    for source, target in BY_TIME.items():
        arrows[source, target].append("questions expired")
    order = list(State)
    drawn = sorted(arrows.items(), key=lambda arrow: [order.index(state) for state in arrow[0]])
    lines = (
        f"{State.UNCONFIRMED.value}: input_required, not confirmed",
        *(f"[*] --> {state.value}: {by}" for state, by in BY_CALLS.items()),
        *(f"{source.value} --> {target.value}: {', '.join(events)}" for (source, target), events in drawn),
        *(f"{state.value} --> [*]" for state in _FINAL),
    )
    return "".join(("```mermaid\nstateDiagram-v2\n", *(f"    {line}\n" for line in lines), "```\n"))


def page_with(drawn: str) -> str:
    """Return the page with a picture in its place."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    return f"{before}{BEGIN}{drawn}{END}{rest.partition(END)[2]}"


def _words(name: str) -> str:
    return re.sub("(?<!^)([A-Z])", r" \1", name).lower()


if __name__ == "__main__":
    PAGE.write_text(page_with(picture()), encoding="utf-8")
