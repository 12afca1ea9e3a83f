"""What docs/extras/approvals.md shows is what manifests and questions may have, and what workflows get."""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
import yaml

from stepwire.background.input_requests import LARGEST_OPEN
from stepwire.engine.answers import LARGEST_ANSWERS
from stepwire.extras.approvals import service as deciding
from stepwire.extras.approvals.audiences import audience_of
from stepwire.extras.approvals.changes import Happened
from stepwire.extras.approvals.manifest import ApproversFields, ManifestWithApprovers
from stepwire.extras.approvals.rules import (
    MOST_APPROVALS,
    MOST_VALUES,
    Approval,
    VoteWay,
    narrowed,
)
from stepwire.tasks.answers import LARGEST_MATTERS, MOST_DECISIONS, Action, Decision, Given, InputResponse
from stepwire.tasks.inputs import MOST_QUESTIONS, UndeliveredAnswer
from tests.docs.pages import ROOT, page
from tests.extras.approvals.questions_to_others import asked_change, decided_change

PAGE: Final = page(ROOT / "docs/extras/approvals.md")
ANN: Final = Given(
    "9a04e3b1c7d2f6508b1de2a4f7c95306",
    datetime(2026, 11, 27, 9, 30, tzinfo=UTC),
    InputResponse(Action.ACCEPT, '{"note":"ok"}'),
    "ann@example.com",
    VoteWay.TOOL.value,
)


def blocks() -> list[dict[str, Any]]:
    return [yaml.safe_load(block) for block in PAGE.blocks("yaml") if "!Sub" not in block]


def manifest() -> ManifestWithApprovers:
    (shown, _) = blocks()
    properties = {"order_id": {"type": "string"}}
    return ManifestWithApprovers(
        name="refund",
        description="Refunds.",
        state_machine="Refund",
        input_schema={"type": "object", "properties": properties},
        **shown,
    )


def test_the_question_of_the_page_narrows_the_manifest_of_the_page() -> None:
    policy = manifest().approvers
    assert policy is not None

    merged = narrowed(policy.policy(), audience_of(blocks()[1]["Payload"]["audience"]))

    assert merged.approvals == 2
    assert [getattr(one, "claim", None) for one in merged.audience.conditions] == ["groups", "region"]
    assert merged.escalation is not None
    assert merged.remind == timedelta(hours=4)


def test_a_workflow_gets_what_the_page_shows() -> None:
    shown, *_ = PAGE.blocks("json")

    assert json.loads(UndeliveredAnswer("a token", (ANN,), names_people=True).text() or "") == json.loads(shown)


def test_the_caller_reads_what_the_page_says() -> None:
    policy = manifest().approvers
    assert policy is not None
    asked = Approval(policy.policy(), datetime(2026, 11, 26, tzinfo=UTC)).audience("alice")
    decision = Decision(1, "approval", "finance", (ANN,))

    assert f"`{asked.waiting_text((), datetime(2026, 11, 27, 12, tzinfo=UTC))}`" in PAGE.text
    assert f"`{decision.text(with_names=False)}`" in PAGE.text


def test_the_page_has_the_limits() -> None:
    named = (MOST_APPROVALS, MOST_VALUES, MOST_DECISIONS, LARGEST_MATTERS, MOST_QUESTIONS, LARGEST_OPEN)
    limits = (*named, LARGEST_ANSWERS, deciding.MOST_LISTED, deciding.MOST_FOUND)

    assert [one for one in limits if f"{one:,}" not in PAGE.text] == []


def named_in_the_table_of(heading: str) -> set[str]:
    """Return what the first column of the first table under a heading names."""
    table = PAGE.text.partition(f"## {heading}\n")[2].partition("|---")[2].partition("\n\n")[0]
    return {name for cell in re.findall(r"^\| (.*?) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", cell)}


def test_the_table_of_the_fields_has_each() -> None:
    assert named_in_the_table_of("One field") == ApproversFields.model_fields.keys()


def test_the_table_of_the_event_has_all_its_members() -> None:
    published = asked_change().detail() | decided_change().detail()

    assert named_in_the_table_of("How approvers hear of it") - {"links"} == published.keys() - {"links"}
    assert all(f"`{one.value}`" in PAGE.text for one in (*Happened, *VoteWay))


@pytest.mark.parametrize("name", ["README.md", "SECURITY.md"])
def test_approvers_are_named_where_it_is_said_who_else_sees_a_task(name: str) -> None:
    text = " ".join((ROOT / name).read_text(encoding="utf-8").split())

    (_, said) = re.split("[Nn]o other caller can read, list, answer or cancel it", text)

    assert "[Approvers](docs/extras/approvals.md)" in said[:400]
