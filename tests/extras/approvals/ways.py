"""For tests/clients: the refusals that the tools of approvers make a result of."""

from typing import Final

from stepwire.extras.approvals.refusals import UnknownApproval
from tests.clients.way import Way

WAYS: Final = dict[str, Way]()
OTHERS: Final = frozenset({UnknownApproval})
"""test_tools.py has it."""
