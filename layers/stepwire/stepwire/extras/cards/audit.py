"""What the audit trail has of cards."""

from typing import Final

from stepwire.audit import Audited

ANSWERED: Final = Audited("answered", "CardAnswers")
"""A question was answered on a card; `outcome` is the person's action."""
