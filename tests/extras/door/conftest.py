"""The fixtures of the tests of sign-in, for those behind a REST API."""

from tests.sign_in.conftest import seen_by, sites

__all__ = ["seen_by", "sites"]
