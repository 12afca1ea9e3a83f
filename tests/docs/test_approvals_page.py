"""The snippets of docs/approvals.md are a manifest's, a question's and an answer's; its tables name what there is."""

import json
import re
from typing import Any, Final

import pytest
import yaml

from stepwire.catalog.manifest_fields import ApproversFields, AudienceFields
from stepwire.rendering import status_message
from stepwire.subscriptions.approvals import Happened
from stepwire.tasks.approvals import HasClaim, HasScope, VoteWay, narrowed
from stepwire.tasks.audiences import audience_of
from stepwire.tasks.inputs import InputResponse
from tests.docs.pages import ROOT, page
from tests.questions_to_others import asked_change, decided_change

PAGE: Final = page(ROOT / "docs/approvals.md")
Json = dict[str, Any]


def rows_under(heading: str) -> list[str]:
    """Return the first cells of the first table under a heading."""
    table = PAGE.text.partition(f"## {heading}\n")[2].partition("|---")[2]
    return re.findall(r"^\| (.*?) \|", table.partition("\n\n")[0], re.MULTILINE)


@pytest.fixture
def policy() -> ApproversFields:
    return ApproversFields.model_validate(yaml.safe_load(PAGE.blocks("yaml")[0])["approvers"])


def test_the_manifest_says_who_decides(policy: ApproversFields) -> None:
    found = policy.policy()

    assert found.audience.conditions == (HasClaim("cognito:groups", ("finance",)),)
    assert (found.is_for("finance"), found.is_for("approval")) == (True, False)


def test_the_question_narrows_it(policy: ApproversFields) -> None:
    question: Json = yaml.safe_load(PAGE.blocks("yaml")[1])

    both = narrowed(policy.policy(), audience_of(question["audience"]))

    assert both.is_for(question["key"])
    assert both.audience.conditions == (HasClaim("cognito:groups", ("finance",)), HasScope("refunds.large"))
    assert (both.approvals, both.includes_caller, both.audience.name) == (2, False, "two of finance")
    assert both.escalation is not None
    assert HasClaim("cognito:groups", ("finance",)) in both.escalation.audience.conditions


def test_the_table_of_fields_has_each_once() -> None:
    told = [name for cell in rows_under("One field") for name in re.findall(r"`(\w+)`", cell)]

    names = {*ApproversFields.model_fields, *AudienceFields.model_fields} - {"questions"}
    assert sorted(told) == sorted(names)


def test_the_answer_is_what_a_workflow_gets() -> None:
    (delivered,) = decided_change().task.inputs.undelivered

    assert isinstance(delivered.answer, InputResponse)
    assert json.loads(PAGE.blocks("json")[0]) == json.loads(delivered.answer.text())
    assert all(f"`{way.value}`" in PAGE.text for way in VoteWay)


def test_the_caller_is_told_for_whom_the_task_waits_in_these_words() -> None:
    message = status_message(asked_change().task) or ""

    assert message.startswith("Waits for one of finance to decide, until ")
    assert re.search(r"`Waits for one of finance to decide, until \w+day \d{4}-\d\d-\d\d \d\d:\d\d UTC\.`", PAGE.text)


def test_the_table_of_the_event_has_all_its_members() -> None:
    told = {name for cell in rows_under("How approvers hear of it") for name in re.findall(r"`(\w+)`", cell)}

    assert told - {"links"} == set(asked_change().detail()) | set(decided_change().detail())
    assert all(f"`{one.value}`" in PAGE.text for one in Happened)
