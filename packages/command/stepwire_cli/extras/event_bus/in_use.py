"""What of the event bus is in use: other systems that hear of tasks."""

from typing import Final

from stepwire_cli.deployment.in_use import Contents, Use


def _bus(contents: Contents) -> str:
    bus = contents.parameter("EventBus")
    return f"EventBus={bus}" if bus else ""


USES: Final = (
    Use(
        "systems that hear of tasks on your bus",
        "nothing is sent to it, and what happens meanwhile is never told.",
        "Tell the owners of its rules first.",
        _bus,
    ),
)
