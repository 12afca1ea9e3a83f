"""Text of the dataset for the report. The rule: no terminal control sequence gets through."""

from . import limits


def printable(text: str) -> str:
    """Replace control characters, line ends and other unprintable characters."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def shortened(text: str) -> str:
    """Return a value for display: printable, and truncated if it is too long."""
    cut = text if len(text) <= limits.SHOWN_CHARACTERS else f"{text[: limits.SHOWN_CHARACTERS - 1]}…"
    return printable(cut)
