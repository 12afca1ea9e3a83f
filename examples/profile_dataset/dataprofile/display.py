"""Text of the dataset as the report shows it. The rule: nothing that a terminal would obey gets through."""

from . import limits


def printable(text: str) -> str:
    """Replace what cannot be shown: control characters, line ends and the like."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def shortened(text: str) -> str:
    """Give a value as it is shown: printable, and cut where it is too long."""
    cut = text if len(text) <= limits.SHOWN_CHARACTERS else f"{text[: limits.SHOWN_CHARACTERS - 1]}…"
    return printable(cut)
