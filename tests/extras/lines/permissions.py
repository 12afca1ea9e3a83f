"""For tests/integration/test_policies.py: permissions that the tests of other parts use."""

from typing import Final

_LINES: Final = "tools with a limit: tests/extras/lines/examples/test_demo.py gives a turn on the local stack"
OF_OTHER_TESTS: Final = {
    ("GiveTurnsToTheNextInLine", "dynamodb:deleteitem"): _LINES,
    ("GiveTurnsToTheNextInLine", "dynamodb:getitem"): _LINES,
    ("GiveTurnsToTheNextInLine", "dynamodb:putitem"): _LINES,
    ("GiveTurnsToTheNextInLine", "dynamodb:query"): _LINES,
    ("GiveTurnsToTheNextInLine", "dynamodb:updateitem"): _LINES,
}
