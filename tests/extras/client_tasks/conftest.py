"""A client that makes tasks of what it is asked."""

import pytest

from tests.extras.client_tasks.hosts import CAPABILITIES
from tests.server.clients import LegacyClient
from tests.server.instances import RoundRobinEndpoint


@pytest.fixture
def deferring(turns: RoundRobinEndpoint) -> LegacyClient:
    """A client of 2025-11-25 that resumes a response, and makes tasks of what it is asked."""
    return LegacyClient.opened(turns, capabilities=CAPABILITIES)
