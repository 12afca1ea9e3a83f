"""The sample events of questions to others are what is published of a refund that finance decides."""

from collections.abc import Callable

import pytest

from stepwire.extras.approvals.changes import ApprovalChange
from tests.extras.approvals.questions_to_others import asked_change, decided_change
from tests.recorded import recorded


@pytest.mark.parametrize(("name", "change"), [("question_asked", asked_change), ("question_closed", decided_change)])
def test_a_sample_event_is_what_is_published(name: str, change: Callable[[], ApprovalChange]) -> None:
    sample = recorded(f"extras/approvals/{name}")

    assert sample["detail"] == change().detail()
    assert f"{change().at:%Y-%m-%dT%H:%M:%SZ}" == sample["time"]
