"""What is recorded: of the core in this folder, and of each extra in its own, so that its record goes with it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stepwire.catalog.tools import Tool
from stepwire.json_text import JsonObject
from tests.extras import parts
from tests.server.answers import Json
from tests.upgrades.catalogs import MANIFESTS, catalog_shards
from tests.upgrades.recording import SCENARIOS, TOOLS, RecordedTable, Scenario, events, record


@dataclass(frozen=True)
class Recorded:
    """What is recorded together, in the folder `recorded` beside a module."""

    module: str
    """The file of the module."""
    tools: tuple[Tool, ...]
    """The tools of its scenarios."""
    scenarios: tuple[Scenario, ...]
    manifests: Mapping[str, JsonObject]
    """What manifests have beside the necessary, by the names of their tools."""

    def path(self, number: int) -> Path:
        """Return the file of a record."""
        return Path(self.module).parent / "recorded" / f"{number}.json"

    def newest(self) -> Json:
        """Read the newest record: what the version that was recorded last stores, publishes and gives to clients."""
        return json.loads(self.path(NUMBER).read_text(encoding="utf-8"))

    def today(self, table: RecordedTable) -> Json:
        """Record what this version does."""
        scenarios = {one.__name__: record(one, table, self.tools) for one in self.scenarios}
        heard = {"events": events()} if self is CORE else {}
        return {"scenarios": scenarios, **heard, "catalog": catalog_shards(self.manifests)}

    def write(self, number: int, commit: str, table: RecordedTable) -> None:
        """Write the record of this version."""
        self.path(number).parent.mkdir(exist_ok=True)
        content = {"commit": commit, **self.today(table)}
        text = json.dumps(content, indent=1, ensure_ascii=False)
        self.path(number).write_text(f"{text}\n", encoding="utf-8")


CORE: Final = Recorded(__file__, TOOLS, SCENARIOS, MANIFESTS)
ALL: Final = (
    CORE,
    *(Recorded(one.__file__ or "", (*TOOLS, *one.TOOLS), one.SCENARIOS, one.MANIFESTS) for one in parts("recording")),
)
NUMBER: Final = max(int(path.stem) for path in CORE.path(1).parent.glob("*.json"))
