"""Errors of an account or of a command, each with a message of one line that says what to do.

AccountError          exit code 1
├── NoCredentials     4  no credentials, or expired ones
├── NoRegion          2
├── Unreachable       3  no network, or no such endpoint
├── NotAllowed        4  a permission is missing
├── NotThere          5  a state machine, a stack or an endpoint that does not exist
├── TooBusy           1  throttled for too long
├── Unreadable        1  a definition that is not JSON, or is encrypted
└── NothingChosen     2  no state machine was named
"""

from typing import ClassVar

from stepwire_cli.exits import CommandError, Exit


class AccountError(CommandError):
    """Base of all; the message is one line for a person."""

    exit_code: ClassVar[Exit] = Exit.FAILED

    def __init__(self, message: str) -> None:
        super().__init__(message, self.exit_code)


class NoCredentials(AccountError):
    """There are no credentials, or they have expired."""

    exit_code = Exit.SIGN_IN


class NoRegion(AccountError):
    """No Region is known."""

    exit_code = Exit.USAGE


class Unreachable(AccountError):
    """AWS does not answer."""

    exit_code = Exit.UNREACHABLE


class NotAllowed(AccountError):
    """A permission is missing."""

    exit_code = Exit.SIGN_IN


class NotThere(AccountError):
    """What was named does not exist."""

    exit_code = Exit.UNKNOWN


class TooBusy(AccountError):
    """AWS throttles, however long one waits."""


class Unreadable(AccountError):
    """A definition cannot be read."""


class NothingChosen(AccountError):
    """No state machine was named."""

    exit_code = Exit.USAGE
