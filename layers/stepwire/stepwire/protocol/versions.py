"""The supported protocol versions, and the names that they define."""

from typing import Final

MODERN_VERSIONS: Final = ("2026-07-28",)
# Newest first; only the first has tasks.
LEGACY_VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26")
LEGACY_WITH_TASKS: Final = LEGACY_VERSIONS[0]
# A11: the version of a client that names none.
ASSUMED_VERSION: Final = LEGACY_VERSIONS[-1]

TASKS_EXTENSION: Final = "io.modelcontextprotocol/tasks"
EVENTS_EXTENSION: Final = "io.modelcontextprotocol/events"
UI_EXTENSION: Final = "io.modelcontextprotocol/ui"
CARD_MIME_TYPE: Final = "text/html;profile=mcp-app"
RELATED_TASK: Final = "io.modelcontextprotocol/related-task"
MODEL_IMMEDIATE_RESPONSE: Final = "io.modelcontextprotocol/model-immediate-response"
META_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
META_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
META_CLIENT: Final = "io.modelcontextprotocol/clientInfo"
META_SERVER: Final = "io.modelcontextprotocol/serverInfo"
META_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"
