"""The newest record: what the version that was recorded last stores, publishes and gives to clients."""

import json
from typing import Final

from tests.server.answers import Json
from tests.upgrades.recording import FOLDER

NUMBER: Final = max(int(path.stem) for path in FOLDER.glob("*.json"))
NEWEST: Final[Json] = json.loads((FOLDER / f"{NUMBER}.json").read_text(encoding="utf-8"))
