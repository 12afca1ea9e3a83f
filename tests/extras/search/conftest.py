"""The endpoint of released clients."""

from tests.integration.over_http.conftest import url

__all__ = ["url"]
