"""What the local stack has of approvals: the console's page on which others than the callers answer, and their answers.

A test decides with `approve` and `refuse`.
"""

from pathlib import Path
from typing import Final

from stepwire_local.extras import Extra
from stepwire_local.extras.approvals.deciding import NotDecided, approve, refuse
from stepwire_local.extras.approvals.questions import OpenApprovals
from stepwire_local.extras.approvals.sign_in import parameters_at

__all__ = ["EXTRA", "NotDecided", "OpenApprovals", "approve", "refuse"]

EXTRA: Final = Extra(
    part=lambda stack: OpenApprovals(stack).part(),
    script=Path(__file__).with_name("approvals.js"),
    parameters=parameters_at,
)
