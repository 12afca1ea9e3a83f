"""What the audit trail has of questions to others than the caller."""

from typing import Final

from stepwire.audit import Audited

ASKED: Final = Audited("asked", "ApprovalsAsked")
SEEN: Final = Audited("seen", "ApprovalsSeen")
"""An approver was shown a question. Here and below, `approver` is the digest that stands for the person, or for the
link that was used, and `way` how they came (`rules.VoteWay`)."""
APPROVED: Final = Audited("approved", "Approved")
DECLINED: Final = Audited("declined", "Declined")
"""An approver has refused, which decides the question."""
UNDECIDED: Final = Audited("undecided", "Undecided")
"""A question was closed without a decision: `outcome` is `expired`, or `withdrawn` by the workflow."""
