"""How a client comes to a refusal."""

from dataclasses import dataclass
from typing import Final

from stepwire.errors import ProtocolError
from stepwire.json_text import JsonObject

LEGACY: Final = "2025-11-25"
MODERN: Final = "2026-07-28"
BOTH: Final = (LEGACY, MODERN)
TASK: Final = "$task"
"""In a request: the id of the task that the first request of its way created."""


@dataclass(frozen=True)
class Way:
    """Requests, the last of which is refused."""

    error: type[ProtocolError]
    requests: tuple[tuple[str, JsonObject], ...]
    versions: tuple[str, ...] = BOTH
    is_audited: bool = True
    """Whether the error is in the audit log; the end of a task is no refusal, and frequent polls are not logged."""

    @property
    def has_task(self) -> bool:
        """Tell whether the client must support tasks."""
        return any(params.get("taskId") == TASK for _, params in self.requests)
