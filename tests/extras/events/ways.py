"""For tests/clients: the refusals of methods that the libraries lack."""

from typing import Final

from stepwire.extras.events.refusals import (
    CallbackEndpointError,
    EntityNotFound,
    Forbidden,
    ResourceExhausted,
    Unsupported,
)
from tests.clients.way import Way

WAYS: Final = dict[str, Way]()
OTHERS: Final = frozenset({CallbackEndpointError, EntityNotFound, Forbidden, ResourceExhausted, Unsupported})
"""test_polls.py and test_webhooks.py have them."""
