"""Counts the characters of a text, for the workflow measure_texts."""

from typing import Any


def handler(event: dict[str, Any], _context: object) -> dict[str, int]:
    """Return the length."""
    return {"characters": len(event["text"])}
