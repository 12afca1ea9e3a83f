"""For tests/clients: how a client is refused a skill."""

from typing import Final

from stepwire.errors import ProtocolError
from stepwire.extras.skills.refusals import UnknownSkill
from tests.clients.way import MODERN, Way

WAYS: Final = {"an unknown skill": Way(UnknownSkill, (("skills/get", {"uri": "skill://nothing/SKILL.md"}),), (MODERN,))}
OTHERS: Final = frozenset[type[ProtocolError]]()
