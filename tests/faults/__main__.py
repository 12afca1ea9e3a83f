"""Inject every fault at every AWS call, and record the outcomes: `python -m tests.faults`. Takes some minutes."""

from tests.faults.cases import cases, tried
from tests.faults.report import DOCUMENT, write_outcomes
from tests.faults.site import simulated_account

if __name__ == "__main__":
    with simulated_account() as account:
        write_outcomes({str(case): tried(case, account) for case in cases()})
    print(f"written: {DOCUMENT}")
