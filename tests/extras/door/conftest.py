"""The fixtures of the tests of sign-in and its metadata, for those behind a REST API."""

from tests.sign_in.conftest import seen_by, sites
from tests.unit.test_metadata import ask, pool

__all__ = ["ask", "pool", "seen_by", "sites"]
