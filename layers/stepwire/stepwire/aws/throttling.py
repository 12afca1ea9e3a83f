"""When AWS says that it is called too often: expected at scale, and answered by calling less, not by calling again."""

from typing import Any, Final

from botocore.exceptions import ClientError

THROTTLED: Final = frozenset(
    {
        "RequestLimitExceeded",
        "RequestThrottledException",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
"""The codes with which a service refuses a call because a quota of requests is used up."""


def give_up_when_throttled(response: tuple[object, dict[str, Any]] | None, operation: Any = None, **_: object) -> None:
    """End a call that was throttled, where botocore asks whether to send it again (its event `needs-retry`).

    Raises:
        ClientError: the answer says that the call was throttled.
    """
    parsed = response[1] if response else {}
    if parsed.get("Error", {}).get("Code") in THROTTLED:
        raise ClientError(parsed, operation.name)  # pyright: ignore[reportArgumentType] - parsed as botocore parses it
