"""What the tests of the extra share: the simulated AWS account, for its stores, and one in which the command runs."""

from packages.command.tests.conftest import in_account
from tests.contracts.conftest import aws

__all__ = ["aws", "in_account"]
