"""For packages/command/tests/test_account_errors.py: a command that reads an AWS account."""

from typing import Final

COMMANDS: Final = {"queue": ["queue", "list", "--stack", "live"]}
