"""What these tests share with those of the local stack."""

from packages.local.tests.test_watching import beside

__all__ = ["beside"]
