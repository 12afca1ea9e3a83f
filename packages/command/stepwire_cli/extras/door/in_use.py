"""What of the front door is in use: an API other than the core's."""

from typing import Final

from stepwire_cli.deployment.in_use import Use

USES: Final = (
    Use(
        "the REST API that clients reach",
        "the REST API is gone, and an HTTP API without a web ACL answers the internet.",
        "Prepare to lead the endpoint's address to the other API, and decide whether the internet may reach it.",
        lambda contents: contents.setting("FrontDoor", "http"),
    ),
)
