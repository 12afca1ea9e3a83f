"""For packages/command/tests/test_account_errors.py: a command that reads an AWS account."""

from typing import Final

COMMANDS: Final = {"caller": ["caller", "whois", "arn:aws:iam::123456789012:user/ada", "--stack", "live"]}
