"""What `stepwire doctor` says of who decides: a line each."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from packages.command.tests.wrap.account import PASS
from packages.command.tests.wrap.test_doctor import WHERE, account_of, asking, found_in
from packages.wrap.tests.samples import task
from packages.wrap.tests.test_doctor import GOOD, MISTYPED
from packages.wrap.tests.test_doctor import asking as misasking
from stepwire.json_text import JsonObject
from stepwire_cli.app import run

FORM: JsonObject = {"message": "May I?", "requestedSchema": {"type": "object", "properties": {}}}
BY_ARGUMENT: JsonObject = {"claim": "groups", "has": "{% $states.input.team %}"}


@pytest.mark.parametrize(
    ("audience", "approvers", "is_told"),
    [
        (BY_ARGUMENT, {"approvals": 1}, True),
        ("{% $states.input.audience %}", {"approvals": 1}, True),
        ({"scope": "refunds", "escalate": {"after": "PT1H", **BY_ARGUMENT}}, {"approvals": 1}, True),
        ({**BY_ARGUMENT, "has": "finance", "name": "{% $states.input.team %}"}, {"approvals": 1}, False),
        (BY_ARGUMENT, {"scope": "refunds.approve"}, False),
    ],
)
def test_an_audience_that_a_caller_may_choose_is_one_line(audience: Any, approvers: JsonObject, is_told: bool) -> None:
    found = found_in(account_of(asking(FORM, audience=audience), approvers=approvers))

    assert any("Orders: state Ask computes who decides its question" in one for one in found) is is_told


NESTED: JsonObject = task(resource="states:startExecution.sync:2", Arguments={"StateMachineArn": "x"})
LEFT = "the caller answers approval (state Ask)"


@pytest.mark.parametrize(
    ("key", "questions", "more", "words"),
    [
        ("approval", ["apporval"], {}, f"no state asks apporval (did you mean approval?), and {LEFT}"),
        ("approval", ["finance", "legal"], {}, f"no state asks finance or legal, and {LEFT}"),
        ("approval", ["approval", "finance"], {}, "no state asks finance"),
        ("approval", ["approval"], {}, ""),
        ("approval", [], {}, ""),
        ("{% $amount > 500 ? 'finance' : 'approval' %}", ["apporval"], {}, ""),
        ("${Key}", ["apporval"], {}, ""),
        ("approval", ["apporval"], {"Then": NESTED}, "leaves approval (state Ask) to the caller"),
        ("approval", ["approval", "finance"], {"Then": NESTED}, ""),
    ],
)
def test_questions_for_approvers_that_nobody_asks_are_one_line(
    key: str, questions: list[str], more: JsonObject, words: str
) -> None:
    definition = asking(FORM, key=key)
    definition["States"] |= more
    approvers: JsonObject = {"scope": "refunds", **({"questions": questions} if questions else {})}

    found = [one for one in found_in(account_of(definition, approvers=approvers)) if "approvers.questions" in one]

    assert [words in one for one in found] == ([True] if words else [])


AMOUNTS: JsonObject = {"type": "string", "enum": ["100", "500"]}
VERDICT: JsonObject = {"type": "string", "enum": ["approved", "rejected"]}
TITLED: JsonObject = {"type": "string", "oneOf": [{"const": "YES", "title": "Yes"}, {"const": "NO", "title": "No"}]}
FLAG: JsonObject = {"type": "boolean"}
TEXT: JsonObject = {"type": "string"}


@pytest.mark.parametrize(
    ("fields", "required", "questions", "again"),
    [
        ({"second_decision": VERDICT}, ["second_decision"], [], "second_decision"),
        ({"receipt": TITLED}, ["receipt"], ["approval"], "receipt"),
        ({"approvedByLegal": FLAG, "note": TEXT}, ["note", "approvedByLegal"], [], "approvedByLegal"),
        ({"receipt": TITLED}, ["receipt"], ["another"], ""),
        ({"receipt": TITLED}, [], [], ""),
        ({"decision": VERDICT}, ["decision"], [], ""),
        ({"isApproved": FLAG, "note": TEXT}, ["note", "isApproved"], [], ""),
        ({"amount": AMOUNTS}, ["amount"], [], ""),
        ({"decision": AMOUNTS}, ["decision"], [], ""),
        ({"express": FLAG, "note": TEXT}, ["express", "note"], [], ""),
        ({"approved_by": TEXT}, ["approved_by"], [], ""),
        ("{% $fields %}", "{% $required %}", [], ""),
    ],
)
def test_a_form_for_approvers_that_may_ask_for_the_decision_again_is_one_line(
    fields: Any, required: Any, questions: list[str], again: str
) -> None:
    form: JsonObject = {"type": "object", "properties": fields, "required": required}
    definition = asking({"message": "May I?", "requestedSchema": form}, key="approval")
    approvers: JsonObject = {"scope": "refunds", **({"questions": questions} if questions else {})}

    found = [one for one in found_in(account_of(definition, approvers=approvers)) if "decision again" in one]

    assert found == (
        [
            f"{WHERE}: approvers: the form of state Ask requires {again}, which may ask for the decision again: "
            f"the buttons decide, whatever {again} says; leave {again} out of the form if it does, or call it "
            "approved: then it is not shown, and the buttons answer it"
        ]
        if again
        else []
    )


@pytest.mark.parametrize(
    ("message", "key", "approvers", "other"),
    [
        ("The manager must approve it.", "it", None, "manager"),
        ("{% 'Reviewers decide on ' & $states.input.id %}", "it", None, "reviewer"),
        ("Go on?", "ask_manager", None, "manager"),
        ("The manager must approve it.", "it", {"scope": "x", "questions": ["another", "it"]}, ""),
        ("The manager must approve it.", "it", {"scope": "x", "questions": ["another"]}, "manager"),
        ("The manager must approve it.", "it", {"scope": "x"}, ""),
        ("Shall it be refunded?", "it", None, ""),
        ("Who is in the directory?", "it", None, ""),
    ],
)
def test_a_question_to_the_caller_that_names_somebody_else_is_one_line(
    message: str, key: str, approvers: JsonObject | None, other: str
) -> None:
    form = {"type": "object", "properties": {"note": {"type": "string"}}}
    definition = asking({"message": message, "requestedSchema": form}, key=key)

    more: dict[str, Any] = {"approvers": approvers} if approvers else {}
    found = found_in(account_of(definition, **more))

    assert [one for one in found if "asks the caller" in one] == (
        [
            f"{WHERE}: state Ask asks the caller, and its words name somebody else ({other}): whoever calls the tool "
            "decides, on their own request too; add approvers to the manifest, who decide it instead "
            "(docs/extras/approvals.md); if the caller is meant, name nobody else in the state"
        ]
        if other
        else []
    )


def test_a_form_for_approvers_that_no_button_can_answer_is_one_line() -> None:
    fields = {"decision": {"type": "string", "enum": ["approve", "reject", "send back"]}}
    definition = asking({"message": "May I?", "requestedSchema": {"type": "object", "properties": fields}}, key="it")

    (line,) = found_in(account_of(definition, approvers={"scope": "refunds"}))

    assert line == (
        f"{WHERE}: approvers: the question of state Ask is refused, so its run fails: its field decision asks for the "
        "decision that Approve and Refuse are, and offers more than a yes and a no; offer two values, which the "
        "decision then gives, or leave the field out"
    )


def test_a_question_that_one_arm_of_a_race_asks_is_asked() -> None:
    account = account_of(
        asking(FORM, key="approval"),
        race={"arms": [{"name": "a"}, {"name": "b", "state_machine": "Other"}]},
        approvers={"scope": "refunds", "questions": ["approval", "legal"]},
    )
    account.add("Other", asking(FORM, key="legal"), **{"stepwire:endpoint": "live"})

    assert found_in(account) == []


def test_approvers_of_a_workflow_that_asks_nothing_are_one_line() -> None:
    asks_nothing, may_ask = (
        found_in(account_of(definition, approvers={"scope": "refunds"}))
        for definition in (PASS, {"StartAt": "Then", "States": {"Then": NESTED}})
    )

    line = (
        "approvers: no state asks anything, so nobody decides anything; "
        "add a state that asks (docs/extras/approvals.md)"
    )
    assert [line in one for one in asks_nothing] == [True]
    assert may_ask == []


def test_a_manifest_is_held_against_the_state_machine_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = {
        "Type": "AWS::Serverless::StateMachine",
        "Properties": {"Name": "Settle", "Definition": misasking(MISTYPED)},
    }
    (tmp_path / "template.yaml").write_text(yaml.safe_dump({"Resources": {"TheMachine": machine}}))
    (tmp_path / "tools").mkdir()
    approvers = {"scope": "refunds", "questions": ["approval"]}
    manifest = {**GOOD, "state_machine": "Settle", "approvers": approvers}
    (tmp_path / "tools" / "settle.yaml").write_text(yaml.safe_dump(manifest))

    run(["doctor", str(tmp_path)])

    assert (
        f"{tmp_path}/tools/settle.yaml: approvers.questions: no state asks approval (did you mean apporval?), and the "
        "caller answers apporval (state Ask). Fix: write the key as the state has it, or leave questions out"
    ) in capsys.readouterr().out
