"""Proofs that a capability is kept, for `test_idle` and the `idle` modules of the extras."""

from collections.abc import Callable
from typing import Any

from tests.server.clients import LegacyClient, ModernClient

Client = LegacyClient | ModernClient


def can_ask(method: str, **params: Any) -> Callable[[Client], bool]:
    """Return a proof that a method is answered with a result."""
    return lambda client: bool(client.ask(method, params).result)
