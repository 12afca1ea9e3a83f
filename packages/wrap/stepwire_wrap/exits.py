"""The exit codes, and the error that a command ends with. Nothing heavy is imported here."""

from enum import IntEnum


class Exit(IntEnum):
    """How a command ended; `stepwire` has the same ones, and more."""

    DONE = 0
    FAILED = 1
    """Something was found to be wrong, or a state machine could not be described."""
    USAGE = 2
    UNKNOWN = 5
    """There is no state machine."""
    STOPPED = 130


class WrapError(Exception):
    """Nothing can be read or written so. The message is one line: what is wrong, and what would be right."""

    def __init__(self, message: str, code: Exit = Exit.USAGE) -> None:
        super().__init__(message)
        self.code = code
