"""Answer approvers on their page. Nothing is built before the first request."""

from stepwire.extras.approvals.page.handler import ApprovalsHandler

handler = ApprovalsHandler()
