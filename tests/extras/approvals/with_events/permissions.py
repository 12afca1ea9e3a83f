"""For tests/integration/test_policies.py: permissions that the tests of other parts use."""

from typing import Final

OF_OTHER_TESTS: Final = {
    ("FindApproversWhoListen", "dynamodb:query"): "an approver who has events: test_events.py beside this",
}
