"""For the tests of the template: what switches the page on, and what the extra adds to functions of the core."""

from typing import Final

from tests.template.of_extras import InTemplate

TEMPLATE: Final = InTemplate(
    on={"ApprovalLinks": "link"},
    variables={"APPROVAL_LINKS": "off", "RESOURCE": "Api.ApiEndpoint/mcp", "SECRET_ARN": "RequestStateSecret"},
    actions=("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem"),
    partitions={"StatusChangesFunction.ListQuestionsForApprovers": ["approvals#*"]},
    wildcards={"ApprovalsFunction.AnswerWaitingStates": "the actions know no resources; a token is what they go by"},
)
