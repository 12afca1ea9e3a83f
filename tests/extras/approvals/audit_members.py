"""Members that only lines about approvers have (`tests.docs.audit_schema`)."""

from typing import Any, Final

from stepwire.extras.approvals.rules import VoteWay

TEXTS: Final[dict[str, dict[str, Any]]] = {
    "approver": {"description": "Digest that stands for an approver, or for a link."},
    "way": {"description": "How an approver saw or decided a question.", "enum": [one.value for one in VoteWay]},
}
