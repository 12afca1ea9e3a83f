"""A failure of ours loses nothing of what an approver has filled in, and their decision counts once."""

from datetime import timedelta
from typing import Final
from urllib.parse import urlencode

from stepwire.extras.approvals.inbox import QuestionKey
from stepwire.extras.approvals.page.links import Link, LinkMode, sealed
from stepwire.extras.approvals.page.page import ApprovalPage, PageRequest, PageResponse
from stepwire.extras.approvals.page.pages import APPROVE, DECISION
from stepwire.tasks.ids import TaskId, TaskKey
from tests.extras.approvals.approving import refunds, started
from tests.extras.approvals.built import approvals_in
from tests.extras.approvals.page.desk import form_of
from tests.kits import ALICE, SECRET

SAME: Final = {"sec-fetch-site": "same-origin", "content-type": "application/x-www-form-urlencoded"}


def test_a_form_that_meets_a_failure_comes_back_to_be_sent_again() -> None:
    world = refunds()
    key = QuestionKey(TaskKey(ALICE, TaskId(started(world))), 1)
    link = sealed(Link(key, None, world.clock.now() + timedelta(days=1), needs_sign_in=False), SECRET)
    page = ApprovalPage(approvals_in(world), LinkMode.LINK, "", "Stepwire", lambda: SECRET, lambda: [SECRET])
    typed = {"field-0": "7", "field-1": 'It "wobbles" <b>\r\nand more', DECISION: APPROVE}

    def sent(values: dict[str, str]) -> PageResponse:
        return page.answer(PageRequest("POST", link, headers=SAME, body=urlencode(values).encode()))

    world.store.is_available = False
    failed = sent(typed)
    world.store.is_available = True
    again, once_more = (sent(form_of(failed.html).values) for _ in range(2))

    assert failed.status == 500
    assert "It is not certain whether your decision was recorded." in failed.html
    assert form_of(failed.html).values == typed
    assert [type(one).__name__ for one in world.troubles] == ["StoreBusy"]
    assert "it was approved" in again.html
    assert "it was approved" in once_more.html
    assert [entry.action.word for entry in world.audit].count("approved") == 1
