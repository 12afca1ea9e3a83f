"""What of the front door is in use: an API other than the core's."""

from typing import Final

from stepwire_cli.deployment.in_use import Contents, Use


def _door(contents: Contents) -> str:
    door = contents.parameter("FrontDoor")
    return f"FrontDoor={door}" if door not in ("", "http") else ""


USES: Final = (
    Use(
        "the REST API that clients reach",
        "the REST API is gone, and an HTTP API without a web ACL answers the internet.",
        "Prepare to lead the endpoint's address to the other API, and decide whether the internet may reach it.",
        _door,
    ),
)
