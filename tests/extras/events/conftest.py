"""The simulated AWS account of the contract tests, for the stores of this extra."""

from tests.contracts.conftest import aws

__all__ = ["aws"]
