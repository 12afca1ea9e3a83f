"""Read the recorded durations; `durations.json` says where they come from."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class RecordedTool:
    """A tool and how long its runs took, in seconds."""

    name: str
    past: Sequence[float]
    """Half of the runs: hints may learn from them, and nothing is measured on them."""
    runs: Sequence[float]


@dataclass(frozen=True)
class Recorded:
    """All recorded tools."""

    programs: Sequence[RecordedTool]
    """Programs that run for seconds or minutes."""
    workflows: Sequence[RecordedTool]
    """Whole workflows, which run for minutes or hours."""
    origin: str


def recorded() -> Recorded:
    """Read what was recorded."""
    found = json.loads(Path(__file__).with_name("durations.json").read_text(encoding="utf-8"))
    programs, workflows = (
        [RecordedTool(name, seconds[::2], seconds[1::2]) for name, seconds in found[kind].items()]
        for kind in ("programs", "workflows")
    )
    return Recorded(programs, workflows, found["origin"])
