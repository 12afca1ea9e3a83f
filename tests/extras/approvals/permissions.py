"""For tests/integration/test_policies.py: permissions that the tests of other parts use."""

from typing import Final

_QUESTIONS: Final = "questions to others: the tests beside this, of the page and of examples list and decide them"
OF_OTHER_TESTS: Final = {
    ("ListQuestionsForApprovers", "dynamodb:deleteitem"): _QUESTIONS,
    ("ListQuestionsForApprovers", "dynamodb:getitem"): _QUESTIONS,
    ("ListQuestionsForApprovers", "dynamodb:putitem"): _QUESTIONS,
    ("ListQuestionsForApprovers", "dynamodb:updateitem"): _QUESTIONS,
}
