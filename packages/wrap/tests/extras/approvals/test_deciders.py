"""Who decides at a state that waits for a person: what is proposed, what each answer writes, and how it is chosen."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from jsonata.jsonata import Jsonata  # pyright: ignore[reportMissingTypeStubs]

from packages.wrap.tests.samples import in_jsonata, machine, passed, task
from packages.wrap.tests.shown import Shown
from stepwire.extras.approvals.decision_fields import form_of
from stepwire.json_text import JsonObject, as_object
from stepwire.manifests.reading import read_manifest
from stepwire_wrap.deciding import NOBODY_SAYS, Deciding
from stepwire_wrap.definitions.asking import asking_instead
from stepwire_wrap.definitions.deciders import Decider, proposed_for, ways_of
from stepwire_wrap.definitions.people import waiting_for_people
from stepwire_wrap.definitions.questions import bad_questions
from stepwire_wrap.drafting import Place
from stepwire_wrap.exits import WrapError
from stepwire_wrap.extras.approvals.deciders import audience_in
from stepwire_wrap.wrapping import wrap

SENT: Final = "sns:publish.waitForTaskToken"


def choice(path: str = "$.approval.decision", **test: Any) -> JsonObject:
    return {"Type": "Choice", "Default": "No", "Choices": [{"Variable": path, **test, "Next": "Done"}]}


def ordering(name: str = "Ask", after: JsonObject | None = None, comment: str = "", **given: Any) -> JsonObject:
    """Return a workflow in which a state waits for a person, whose answer a choice reads."""
    state = task("Go", SENT, ResultPath="$.approval", Parameters={"TopicArn": "mails", **given})
    done = passed(Parameters={"by.$": "$.approval.by"})
    made = machine(
        **{name: state, "Go": after or choice(StringEquals="APPROVED"), "Done": done, "No": {"Type": "Fail"}}
    )
    return made | ({"Comment": comment} if comment else {})


@pytest.mark.parametrize(
    ("definition", "other"),
    [
        (ordering("Ask manager"), "manager"),
        (ordering("Notify approvers", after=passed()), "approver"),
        (ordering(TopicArn="arn:aws:sns:us-east-1:1:reviewers"), "reviewer"),
        (ordering(comment="Sends an order; asks a manager about large ones."), "manager"),
        (ordering("Ask", choice(StringEquals="REJECTED")), "approver"),
        (ordering("Ask", passed(), Message="Please approve it"), "approver"),
        (machine(Ask=task("Go", "lambda:invoke.waitForTaskToken", Parameters={"FunctionName": "MailSupervisor"}),
                 Go=passed()), "supervisor"),
        (machine(Ask=task("Go", "activity:AuditorsConfirm"), Go=passed()), "auditor"),
        (ordering("Ask customer by email", choice(StringEquals="yes")), ""),
        (ordering("Ask for feedback by email", passed()), ""),
    ],
)  # fmt: skip
def test_the_caller_is_never_proposed_where_somebody_else_is_named(definition: JsonObject, other: str) -> None:
    (found,) = waiting_for_people(definition)

    proposed, *_ = ways = [one.decider for one in ways_of(found)]

    assert (found.is_sure, found.other) == (True, other)
    assert (proposed, proposed_for(found)) == (
        (Decider.AS_NOW, Decider.OTHERS) if other else (Decider.CALLER, Decider.CALLER)
    )
    assert set(ways) == set(Decider), "all three are there"


def output_of(state: JsonObject, **result: Any) -> Any:
    expression = Jsonata(state["Output"].removeprefix("{%").removesuffix("%}"))
    frame = expression.create_frame()
    frame.bind("states", {"input": {"id": 1}, "result": result})
    return json.loads(json.dumps(expression.evaluate({}, frame)))


@pytest.mark.parametrize(
    ("after", "approved", "refused"),
    [
        (choice(StringEquals="APPROVED"), {"decision": "APPROVED"}, {"decision": "REJECTED"}),
        (choice(StringEquals="rejected"), {"decision": "approved"}, {"decision": "rejected"}),
        (choice("$.approval.approved", BooleanEquals=True), {"approved": True}, {"approved": False}),
        (choice("$.approval.sent", BooleanEquals=True), {"sent": True}, {"sent": False}),
    ],
)
def test_the_form_of_approvers_has_no_field_for_the_decision_and_the_output_has_it(
    after: JsonObject, approved: JsonObject, refused: JsonObject
) -> None:
    (found,) = waiting_for_people(ordering("Ask manager", after))

    made = asking_instead(found, Decider.OTHERS)

    payload = made.state["Arguments"]["Payload"]
    form = payload["elicitation"]["requestedSchema"]
    assert form["properties"] == {"by": {"type": "string", "title": "By"}}
    assert form_of(form).fields == ()
    assert payload["audience"] == {"name": "managers"}
    assert payload["elicitation"]["message"].endswith("Do you approve?")
    assert output_of(made.state, action="accept", content={"by": "Ann"}) == {
        "id": 1,
        "approval": {**approved, "by": "Ann"},
    }
    assert output_of(made.state, action="decline") == {"id": 1, "approval": {**refused, "by": ""}}
    assert (bad_questions(machine(Ask=made.state)), made.left) == ([], ())


def test_a_third_answer_that_no_button_gives_is_named() -> None:
    rules = [{"Variable": "$.approval.decision", "StringEquals": one, "Next": "Done"} for one in ("ok", "no", "later")]
    (found,) = waiting_for_people(ordering("Ask manager", {"Type": "Choice", "Default": "No", "Choices": rules}))

    made = asking_instead(found, Decider.OTHERS)

    assert made.left == ('"later" as decision, which neither button gives',)
    assert output_of(made.state, action="accept", content={"by": "A"})["approval"]["decision"] == "ok"


def test_of_several_yes_and_no_the_one_that_is_called_so_is_the_decision() -> None:
    state = task("Done", SENT, Arguments={"TopicArn": "managers"})
    both = "{% $states.input.approved = true and $states.input.express = true %}"
    rules: JsonObject = {"Type": "Choice", "Default": "Done", "Choices": [{"Condition": both, "Next": "Done"}]}
    (found,) = waiting_for_people(in_jsonata(Ask={**state, "Next": "Go"}, Go=rules, Done=passed()))

    made = asking_instead(found, Decider.OTHERS)

    form = made.state["Arguments"]["Payload"]["elicitation"]["requestedSchema"]
    assert form["required"] == ["express"]
    assert output_of(made.state, action="accept", content={"express": False}) == {"approved": True, "express": False}


# -------------------------------------------------------------------------------------------------------- on the screen


def wrapped(folder: Path, definition: JsonObject, deciding: Deciding = NOBODY_SAYS, **more: Any) -> tuple[Shown, str]:
    """Wrap a definition, and return the screen and the manifest."""
    (folder / "orders.asl.json").write_text(json.dumps(definition))
    screen = Shown(**more)
    wrap([folder / "orders.asl.json"], Place(folder / "tools", "live"), screen, deciding)
    return screen, (folder / "tools" / "orders.yaml").read_text()


def test_without_a_choice_all_three_are_told_with_what_each_means(tmp_path: Path) -> None:
    screen, manifest = wrapped(tmp_path, ordering("Ask manager"))

    said = "\n".join(screen.said)
    assert "leave it as it is, or ask approvers instead; not the caller, for it names somebody else (manager)" in said
    ways = [one.partition(":")[0].strip() for one in screen.said if one.startswith("  ")]
    assert ways == [
        "As it is (--decides as-now)",
        "Approvers (--approvers claim=groups",
        "The caller (--decides caller)",
    ]
    assert "whoever calls the tool decides, on their own request too" in said
    assert "approvers" not in yaml.safe_load(manifest)
    assert '"name": "managers"' in manifest
    assert "without `approvers` in the manifest it is refused, and asks nobody" in manifest


@pytest.mark.parametrize(
    ("deciding", "approvers", "is_asking", "has_field"),
    [
        (Deciding.of(None, ["claim=groups:managers"], None), {"claim": "groups", "has": ["managers"]}, True, False),
        (Deciding.of(None, ["claim=groups:a,b", "scope=x"], None),
         {"claim": "groups", "has": ["a", "b"], "scope": "x"}, True, False),
        (Deciding.of("caller", [], None), None, True, True),
        (Deciding.of("as-now", [], None), None, False, False),
    ],
)  # fmt: skip
def test_each_answer_writes_form_output_and_manifest_at_once(
    tmp_path: Path, deciding: Deciding, approvers: JsonObject | None, *, is_asking: bool, has_field: bool
) -> None:
    screen, text = wrapped(tmp_path, ordering("Ask manager"), deciding)

    manifest = yaml.safe_load(text)
    read_manifest(text)
    assert manifest.get("approvers") == approvers
    assert ("elicitation" in text, '"title": "Decision"' in text) == (is_asking, has_field)
    assert "Who decides" not in "\n".join(screen.said)


def test_questions_that_the_caller_answers_stay_the_callers(tmp_path: Path) -> None:
    asks: JsonObject = {"elicitation": {"message": "Which?", "requestedSchema": {"type": "object", "properties": {}}}}
    definition = ordering("Ask manager")
    definition["States"]["Done"] = task("End", "lambda:invoke.waitForTaskToken", Parameters={"Payload": asks})
    definition["States"]["End"] = passed()

    _, text = wrapped(tmp_path, definition, Deciding.of(None, ["scope=x"], None))

    assert yaml.safe_load(text)["approvers"] == {"scope": "x", "questions": ["ask_manager"]}


def test_a_manifest_that_nobody_has_touched_gets_the_choice_and_another_is_left(tmp_path: Path) -> None:
    choosing = Deciding.of(None, ["scope=x"], None)
    wrapped(tmp_path, ordering("Ask manager"))
    _, decided = wrapped(tmp_path, ordering("Ask manager"), choosing)
    file = tmp_path / "tools" / "orders.yaml"
    file.write_text(decided.replace("approvers: {scope: x}\n", "title: Mine\n"))

    screen, left = wrapped(tmp_path, ordering("Ask manager"), choosing)

    assert yaml.safe_load(decided)["approvers"] == {"scope": "x"}
    assert "title: Mine" in left
    assert f'{file} is there already: add approvers: {{"scope":"x"}}' in screen.said


def test_the_three_answers_are_data_for_programs(tmp_path: Path) -> None:
    screen, _ = wrapped(tmp_path, ordering("Ask manager"), as_json=True)

    ((found,),) = screen.results
    assert [one["who"] for one in found["hints"][0]["ways"]] == ["as-now", "approvers", "caller"]
    assert found["hints"][0]["ways"][1]["option"] == "--approvers claim=groups:managers"


@pytest.mark.parametrize(
    "text", ["managers", "claim=groups", "claim=groups:", "claim=:x", "group=x", "scope=", "role=me", "claim=g:a b"]
)
def test_a_sign_in_that_cannot_be_understood_is_one_line_that_says_what_is_right(text: str) -> None:
    with pytest.raises(WrapError, match=r"^--approvers: .*write claim=NAME:VALUE\[,VALUE\], scope=SCOPE or role=ARN"):
        Deciding.of(None, [text], None)


def test_two_answers_at_once_are_one_line() -> None:
    with pytest.raises(WrapError, match="--approvers says who decides, and so does --decides caller: write one"):
        Deciding.of("caller", ["scope=x"], None)


def typing(*lines: str) -> Callable[[str], str]:
    left: Iterator[str] = iter(lines)
    return lambda _prompt: next(left)


@pytest.mark.parametrize(
    ("lines", "decider", "audience"),
    [
        ([""], Decider.AS_NOW, {}),
        (["4", "x", "3"], Decider.CALLER, {}),
        (["2", ""], Decider.OTHERS, {"claim": "groups", "has": ["managers"]}),
        (["2", "managers", "scope=", "scope=orders.approve"], Decider.OTHERS, {"scope": "orders.approve"}),
    ],
)
def test_a_person_is_asked_and_asked_again_where_the_answer_is_none(
    tmp_path: Path, lines: list[str], decider: Decider, audience: JsonObject
) -> None:
    screen, text = wrapped(tmp_path, ordering("Ask manager"), Deciding(ask=typing(*lines)))

    assert as_object(yaml.safe_load(text).get("approvers")) == audience
    assert ("elicitation" in text) is (decider is not Decider.AS_NOW)
    assert screen.said.count("  3  The caller: whoever calls the tool decides, on their own request too.") == 1


def test_an_audience_may_have_several_conditions() -> None:
    role = "arn:aws:iam::123456789012:role/chief"

    assert audience_in(["claim=groups:a", f"role={role}"]) == {"claim": "groups", "has": ["a"], "role": role}
