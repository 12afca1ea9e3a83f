"""A function that returns its event and its environment, or fails as its event says."""

import os
import time
from typing import Any

import shared


class Refused(Exception):
    """An error that the workflow catches."""


def handler(event: dict[str, Any], context: Any) -> Any:
    if "refuse" in event:
        raise Refused(event["refuse"])
    if "break" in event:
        raise KeyError(event["break"])
    if "exit" in event:
        raise SystemExit(event["exit"])
    time.sleep(event.get("seconds", 0))
    os.environ["CALLS"] = str(int(os.environ.get("CALLS", "0")) + 1)
    return {
        "given": event,
        "greeting": os.environ["GREETING"],
        "table": os.environ.get("TABLE_NAME"),
        "shared": shared.NAME,
        "calls": int(os.environ["CALLS"]),
        "function": context.function_name,
        "remaining": context.get_remaining_time_in_millis(),
    }
