"""The recorded versions, each loaded into a table as that version left it."""

import json
from typing import Final

from tests.server.answers import Json
from tests.upgrades.recording import (
    FOLDER,
)

VERSIONS: Final[dict[str, Json]] = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))
}
