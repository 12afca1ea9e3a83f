"""Every fault at every call of every operation: nothing is lost, nothing runs twice, and the documents say so.

What each case leads to is kept in `outcomes.csv`; where a change is meant, `python -m tests.faults` writes it anew.
"""

import pytest

from tests.faults.cases import Case, cases, tried
from tests.faults.operations import OPERATIONS, Operation
from tests.faults.report import read_outcomes, shown, table
from tests.faults.site import Account, Site

KNOWN = read_outcomes()


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_an_operation_makes_the_calls_that_are_listed(operation: Operation, account: Account) -> None:
    site = Site(account, operation.limits)
    act = operation.arrange(site)

    with account.boundary.watch():
        act()

    assert tuple(account.boundary.calls) == operation.steps
    site.close()


@pytest.mark.parametrize("case", list(cases()), ids=str)
def test_a_fault_ends_as_it_is_documented(case: Case, account: Account) -> None:
    assert tried(case, account) == KNOWN[str(case)]


def test_every_known_outcome_is_of_a_case() -> None:
    assert list(KNOWN) == [str(case) for case in cases()]


def test_the_document_shows_what_is_known() -> None:
    assert shown() == table(KNOWN)
