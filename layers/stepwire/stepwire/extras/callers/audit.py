"""What the audit trail has of operators' commands about callers; `operator` says who gave them."""

from typing import Final

from stepwire.audit import Audited

BLOCKED: Final = Audited("blocked", "CallersBlocked")
"""`outcome` says why, if the operator gave a reason."""
UNBLOCKED: Final = Audited("unblocked", "CallersUnblocked")
ERASED: Final = Audited("erased", "Erasures")
"""A part of what was held of the caller was erased; `outcome` says how much."""
