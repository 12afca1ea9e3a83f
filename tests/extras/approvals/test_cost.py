"""What a question to others costs is what its page says, from the calls that the code makes."""

import pytest

from benchmarks.extras.approvals import PAGE, PARTS, costs
from tests.extras.approvals.faults import OPERATIONS


def test_the_table_of_the_page_is_the_output_of_the_simulation() -> None:
    shown = f"<!-- questions to others -->\n{costs()}<!-- end -->"

    assert shown in PAGE.read_text(encoding="utf-8"), "python -m benchmarks.extras.approvals --update"


@pytest.mark.parametrize(
    ("part", "operations"),
    [
        ("asked, and listed for its approvers", ["question to others", "question to others listed"]),
        ("listed by `approvals_list`", ["approvals_list"]),
        ("decided by `approval_answer`, in two rounds", ["approval_answer", "approval_answer, decided"]),
        ("decided on the page, opened once", ["page for approvers", "page for approvers, decided"]),
        ("taken off the list once it is closed", ["question to others unlisted"]),
    ],
)
def test_the_calls_of_a_question_to_others_are_those_of_the_fault_matrix(part: str, operations: list[str]) -> None:
    steps = {one.name: [call.split()[0] for call in one.steps] for one in OPERATIONS}

    # An instance reads its secret once.
    made = tuple(tuple(call for call in steps[name] if call != "GetSecretValue") for name in operations)

    assert PARTS[part].calls == made
