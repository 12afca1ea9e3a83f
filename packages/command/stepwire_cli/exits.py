"""The exit codes, and the errors that a command ends with. Nothing heavy is imported here."""

from enum import IntEnum


class Exit(IntEnum):
    """How a command ended; docs/cli.md explains each."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    UNREACHABLE = 3
    SIGN_IN = 4
    UNKNOWN = 5
    WAITING = 6
    STOPPED = 130


class CommandError(Exception):
    """A command cannot go on. The message is one line: what is wrong, and what would be right."""

    def __init__(self, message: str, code: Exit = Exit.USAGE) -> None:
        super().__init__(message)
        self.code = code
