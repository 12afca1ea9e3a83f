"""What the tests of the extra share: an account in which the command runs."""

from packages.command.tests.conftest import in_account

__all__ = ["in_account"]
