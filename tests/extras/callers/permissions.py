"""For tests/integration/test_policies.py: permissions that the tests of other parts use."""

from typing import Final

OF_OTHER_TESTS: Final = {
    ("FindTheTasksOfACaller", "dynamodb:query"): "tests/extras/callers/test_one_caller.py cancels all of a caller's",
    ("TheListOfBlockedCallers", "dynamodb:deleteitem"): "test_one_caller.py there unblocks",
    ("TheListOfBlockedCallers", "dynamodb:putitem"): "test_one_caller.py there blocks",
    ("TheListOfBlockedCallers", "dynamodb:updateitem"): "test_one_caller.py there blocks",
    ("KnowWhoIsBlocked", "dynamodb:getitem"): "of function webhooks, whose tests on a stack are woken",
}
