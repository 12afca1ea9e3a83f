"""Answer approvers on their page. Nothing is built before the first request."""

from stepwire.aws.approvals_function import ApprovalsHandler

handler = ApprovalsHandler()
