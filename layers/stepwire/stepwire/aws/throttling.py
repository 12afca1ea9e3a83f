"""Throttling by AWS: expected at scale, and handled by calling less often instead of retrying."""

from typing import Any, Final

from botocore.exceptions import ClientError

THROTTLED: Final = frozenset(
    {
        "KmsThrottlingException",
        "RequestLimitExceeded",
        "RequestThrottledException",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
"""The error codes of a call that was refused because a request quota is exhausted."""


def give_up_when_throttled(response: tuple[object, dict[str, Any]] | None, operation: Any = None, **_: object) -> None:
    """Raise instead of retrying a throttled call; a handler of botocore's event `needs-retry`.

    Raises:
        ClientError: the response says that the call was throttled.
    """
    parsed = response[1] if response else {}
    if parsed.get("Error", {}).get("Code") in THROTTLED:
        raise ClientError(parsed, operation.name)  # pyright: ignore[reportArgumentType] - parsed as botocore parses it
