"""What is registered and refused, read from the stream of the table: for whoever looks at the screen.

The rule: a reason is told once, when it is new.
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stepwire_local.lambdas.invocations import Outcome, Returned

logger = logging.getLogger(__name__)

_SORT_KEY = "refusals"


def told(record: Mapping[str, Any]) -> list[str]:
    """Return a line for each refusal that a stream record brings and that was not there before."""
    images = record["dynamodb"]
    if images["Keys"].get("sk", {}).get("S") != _SORT_KEY:
        return []
    before = {_line(one) for one in _refused(images.get("OldImage", {}))}
    lines = dict.fromkeys(_line(one) for one in _refused(images.get("NewImage", {})))
    return [line for line in lines if line not in before]


def _refused(image: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    text = image.get("refused", {}).get("S")
    return json.loads(text)["refused"] if text else []


def _line(one: Mapping[str, Any]) -> str:
    without = "its tool serves without it" if one.get("what", "tool") != "tool" else "the tool is not listed"
    serves = "the last good one serves" if one["serves_previous"] else without
    reasons = "; ".join(one["reason"].splitlines())
    return f"{one['source']} is refused, and {serves}: {reasons}"


@dataclass(frozen=True)
class RefusalWatch:
    """Logs each refusal; receives stream records as a function does."""

    arn: str = "a watch of the registered tools"

    def invoke(self, event: str) -> Outcome:
        """Process a batch."""
        for record in json.loads(event)["Records"]:
            for line in told(record):
                logger.warning("%s", line)
        return Returned("null")
