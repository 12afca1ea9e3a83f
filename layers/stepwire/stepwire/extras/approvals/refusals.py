"""The errors of the tools of approvers."""

from stepwire.errors import InvalidParams


class UnknownApproval(InvalidParams):
    """No such open question for this approver; the same answer for unknown, decided, expired and foreign ones."""

    words = "There is no such question that you may decide: it was decided, it has expired, or it is for others."
