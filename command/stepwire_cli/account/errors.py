"""What can be wrong with an account or with what was asked of it, each in one line that says what to do.

AccountError
├── NoCredentials   no credentials, or expired ones
├── NoRegion
├── Unreachable     no network, or no such endpoint
├── NotAllowed      a permission is missing
├── NotThere        a state machine, a stack or an endpoint that does not exist
├── TooBusy         throttled for too long
├── Unreadable      a definition that is no JSON, or that is encrypted
└── NothingChosen   no state machine was named
"""

from typing import ClassVar


class AccountError(Exception):
    """Base of all; the message is one line for a person."""

    exit_code: ClassVar[int] = 1


class NoCredentials(AccountError):
    """There are no credentials, or they have expired."""


class NoRegion(AccountError):
    """No Region is known."""


class Unreachable(AccountError):
    """AWS does not answer."""


class NotAllowed(AccountError):
    """A permission is missing."""


class NotThere(AccountError):
    """What was named does not exist."""


class TooBusy(AccountError):
    """AWS throttles, however long one waits."""


class Unreadable(AccountError):
    """A definition cannot be read."""


class NothingChosen(AccountError):
    """No state machine was named."""

    exit_code = 2
