"""What the terminal says of a question to others."""

from stepwire_local.extras.approvals.questions import told_of
from tests.extras.approvals.questions_to_others import asked_change, decided_change


def test_a_question_to_others_is_told_with_where_it_is_answered_and_what_was_decided() -> None:
    link = "http://127.0.0.1:3000/approvals/abc"

    asked, decided = told_of(asked_change(), [link]), told_of(decided_change(), [])

    waits = "Waits for one of finance to decide, until Sunday 2026-08-02 12:00 UTC."
    assert (asked.event, asked.about) == ("question", f"question finance of task {asked_change().task.task_id}")
    assert (asked.lines, asked.page) == ([waits, link], "#/approvals")
    assert (asked.facts["links"], asked.facts["happened"], asked.facts["audience"]) == ([link], "asked", ["finance"])
    assert (decided.lines, decided.page) == (["ann@example.com of finance approved, 2026-08-01 12:12 UTC."], "")
