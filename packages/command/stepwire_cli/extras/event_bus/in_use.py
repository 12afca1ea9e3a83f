"""What of the event bus is in use: other systems that hear of tasks."""

from typing import Final

from stepwire_cli.deployment.in_use import Use

USES: Final = (
    Use(
        "systems that hear of tasks on your bus",
        "nothing is sent to it, and what happens meanwhile is never told.",
        "Tell the owners of its rules first.",
        lambda contents: contents.setting("EventBus"),
    ),
)
