"""For tests/server/test_idle.py: what the skills claim, and the proofs."""

from typing import Any, Final

from tests.server.answers import Json
from tests.server.proofs import can_ask
from tests.wire_oracle.skills import SKILLS_EXTENSION

OWN_SKILL: Final = "skill://workflows/run-a-workflow"
DECLARED: Final[dict[str, Any]] = {}
CLAIMED: Final[Json] = {"resources": {}, "extensions": {SKILLS_EXTENSION: {"directoryRead": True}}}
LISTS: Final = ("resources/list", "resources/templates/list", "skills/list")
PROOFS: Final = {
    "resources": can_ask("resources/list"),
    f"extensions.{SKILLS_EXTENSION}": can_ask("skills/list"),
    f"extensions.{SKILLS_EXTENSION}.directoryRead": can_ask("resources/directory/read", uri=OWN_SKILL),
}
