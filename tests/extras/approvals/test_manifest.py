"""The field `approvers` of a manifest: what function catalog says where it does not meet the workflow's questions."""

import json
from typing import Any

import pytest

from tests.unit.aws.test_catalog_function import SCHEDULED, compile_at, machine, register, table
from tests.unit.catalog.registrations import compiled, express, reason, registered

__all__ = ["table"]
ASKS: dict[str, Any] = {
    "Type": "Task",
    "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken",
    "Parameters": {"FunctionName": "f", "Payload": {"key": "apporval", "elicitation": {"message": "May I?"}}},
    "End": True,
}


def test_a_tool_whose_approvers_are_for_no_question_is_served_and_is_a_line_in_the_log(
    table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    machine(table, "M", endpoint=table, definition=json.dumps({"StartAt": "Ask", "States": {"Ask": ASKS}}))
    for name, key in (("good", "apporval"), ("mistyped", "approval")):
        register(table, name, approvers={"scope": "refunds", "questions": [key]})

    compile_at(SCHEDULED)

    doubtful, summary = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (doubtful["message"], doubtful["tool"]) == ("a registered tool is doubtful", "mistyped")
    assert doubtful["reason"] == (
        "approvers.questions: no state asks approval (did you mean apporval?), "
        "and the caller answers apporval (state Ask)"
    )
    assert (summary["tools"], summary["refused"]) == (2, 0)


def test_a_tool_whose_approvers_get_a_form_with_the_decision_in_it_is_a_line_in_the_log(
    table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    decision = {"type": "string", "enum": ["approved", "rejected", "sent back"]}
    form = {"type": "object", "properties": {"decision": decision}, "required": ["decision"]}
    payload = {"key": "approval", "elicitation": {"message": "May I?", "requestedSchema": form}}
    asks = {**ASKS, "Parameters": {"FunctionName": "f", "Payload": payload}}
    machine(table, "M", endpoint=table, definition=json.dumps({"StartAt": "Ask", "States": {"Ask": asks}}))
    register(table, "twice", approvers={"scope": "refunds"})

    compile_at(SCHEDULED)

    doubtful, _ = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (doubtful["message"], doubtful["tool"]) == ("a registered tool is doubtful", "twice")
    assert doubtful["reason"].startswith(
        "approvers: the question of state Ask is refused, so its run fails: its field decision"
    )


def test_an_express_tool_has_no_approvers() -> None:
    given = registered(approvers={"scope": "refunds"})

    assert "approvers: needs a task" in reason(compiled(given, machines=express()))
    assert not compiled(given).refusals
