"""Every fault at every call of every operation: nothing is lost, nothing runs twice, and the documents are correct.

`outcomes.csv` has the outcome of each case; after an intended change, `python -m tests.faults` writes it again. One
case of every operation is tested in each run; the others run with ALL=1, because they take long.
"""

import pytest

from tests.faults.cases import Case, cases, quick_cases, tried
from tests.faults.operation import Operation
from tests.faults.operations import OPERATIONS
from tests.faults.report import read_outcomes, shown, table
from tests.faults.site import Account, Site

KNOWN = read_outcomes()
QUICK = frozenset(str(case) for case in quick_cases())
CASES = [pytest.param(case, id=str(case), marks=() if str(case) in QUICK else pytest.mark.long) for case in cases()]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_an_operation_makes_the_listed_calls(operation: Operation, account: Account) -> None:
    site = Site(account, operation.limits)
    act = operation.arrange(site)

    with account.boundary.watch():
        act()

    assert tuple(account.boundary.calls) == operation.steps
    site.close()


@pytest.mark.parametrize("case", CASES)
def test_a_fault_has_its_documented_outcome(case: Case, account: Account) -> None:
    assert tried(case, account) == KNOWN[str(case)]


def test_the_quick_cases_have_every_operation_and_every_kind_of_fault() -> None:
    quick, every = list(quick_cases()), list(cases())

    assert {one.operation.name for one in quick} == {one.operation.name for one in every}
    assert {one.fault for one in quick} == {one.fault for one in every}


def test_every_recorded_outcome_belongs_to_a_case() -> None:
    assert list(KNOWN) == [str(case) for case in cases()]


def test_the_document_shows_the_recorded_outcomes() -> None:
    assert shown() == table(KNOWN)
