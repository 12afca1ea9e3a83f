"""The endpoint of released clients."""

from tests.e2e.conftest import anyio_backend, url

__all__ = ["anyio_backend", "url"]
