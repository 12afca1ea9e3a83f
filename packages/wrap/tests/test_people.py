"""States that wait for a person elsewhere: told from those that wait for a worker, and what is proposed for them."""

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from jsonata.jsonata import Jsonata  # pyright: ignore[reportMissingTypeStubs]

from packages.wrap.tests.samples import in_jsonata, machine, passed, task
from stepwire.json_text import JsonObject, as_object
from stepwire_wrap.definitions.asking import RETRY, asking_instead
from stepwire_wrap.definitions.deciders import Decider
from stepwire_wrap.definitions.hints import hints_of
from stepwire_wrap.definitions.machines import analysed
from stepwire_wrap.definitions.people import waiting_for_people
from stepwire_wrap.definitions.questions import bad_questions

DOCS: Final = Path(__file__).parents[3] / "docs" / "talking_workflows.md"
TOKEN: Final = "$$.Task.Token"


def waiting(resource: str, to: str = "Go", **more: Any) -> JsonObject:
    return task(to, f"{resource}.waitForTaskToken", **more)


def sent(resource: str, name: str = "Wait", after: Any = None, **parameters: Any) -> JsonObject:
    return machine(**{name: waiting(resource, Parameters=parameters), "Go": after or passed()})


def verdict(*words: str, path: str = "$.status") -> JsonObject:
    rules = [{"Variable": path, "StringEquals": word, "Next": "Done"} for word in words]
    return {"Type": "Choice", "Choices": rules, "Default": "Done"}


@pytest.mark.parametrize(
    ("definition", "is_sure"),
    [
        (sent("sns:publish", "Notify approver", TopicArn="t", **{"Message.$": TOKEN}), True),
        (sent("lambda:invoke", FunctionName="SendApprovalEmailFunction", **{"Payload.$": TOKEN}), True),
        (sent("sqs:sendMessage", "Request human approval", QueueUrl="q"), True),
        (sent("lambda:invoke", "Start", verdict("APPROVED", "REJECTED"), FunctionName="start"), True),
        (sent("aws-sdk:sesv2:sendEmail", "Tell"), True),
        (sent("sns:publish", "Tell", TopicArn="customers", **{
            "Message.$": f"States.Format('Open https://example.com/?token={{}}', {TOKEN})"}), True),
        (machine(A=task("Go", "activity:HumanApproval"), Go=passed()), True),
        (machine(A=task("Go", "activity:Transcoder"), Go=passed()), None),
        (sent("sns:publish", "Tell", TopicArn="t"), False),
        (sent("lambda:invoke", "Check the decision", FunctionName="f"), False),
        (sent("sqs:sendMessage", "Pack", QueueUrl="q", MessageBody={"customerEmail.$": "$.customer.email"}), None),
        (sent("ecs:runTask", "Approve by machine"), None),
        (sent("states:startExecution", "Ask the approval workflow"), None),
        (sent("dynamodb:putItem", "Keep"), None),
        (sent("lambda:invoke", "Wait", FunctionName="transcode-job"), None),
        (sent("lambda:invoke", "Approve", Payload={"elicitation": {}, "task_token.$": TOKEN}), None),
        (machine(Approve=task()), None),
    ],
)  # fmt: skip
def test_a_state_that_waits_for_a_person_is_told_from_one_that_waits_for_a_worker(
    definition: JsonObject, is_sure: bool | None
) -> None:
    found = waiting_for_people(definition)

    assert [one.is_sure for one in found] == ([] if is_sure is None else [is_sure])


def test_a_person_may_be_waited_for_inside_a_map() -> None:
    inner = sent("sns:publish", "Notify approver", TopicArn="t")
    definition = machine(Each={"Type": "Map", "ItemProcessor": inner, "End": True})

    (found,) = waiting_for_people(definition)

    assert found.place.where == "States.Each.ItemProcessor.States.Notify approver"


def proposed(definition: JsonObject) -> JsonObject:
    """Return the state that is proposed in the place of the only one that waits, which clients can show."""
    (found,) = waiting_for_people(definition)
    (state,) = as_object(yaml.safe_load("\n".join(asking_instead(found, Decider.CALLER).lines()))).values()
    assert bad_questions(machine(Ask=state)) == []
    return as_object(state)


def form_of(state: JsonObject) -> JsonObject:
    return state["Arguments"]["Payload"]["elicitation"]["requestedSchema"]


def value_of(text: str, **states: Any) -> Any:
    expression = Jsonata(text.removeprefix("{%").removesuffix("%}"))
    frame = expression.create_frame()
    frame.bind("states", states)
    return json.loads(json.dumps(expression.evaluate({}, frame)))


@pytest.mark.parametrize(
    ("after", "field"),
    [
        (verdict("approved", "rejected"), {"type": "string", "title": "Status", "enum": ["approved", "rejected"]}),
        (verdict("APPROVED"), {"type": "string", "title": "Status", "enum": ["APPROVED", "REJECTED"]}),
        (verdict("ready"), {"type": "string", "title": "Status", "description": "The workflow knows ready."}),
        ({"Type": "Choice", "Choices": [{"Variable": "$.status", "BooleanEquals": True, "Next": "Done"}]},
         {"type": "boolean", "title": "Status"}),
        ({"Type": "Choice", "Choices": [{"Variable": "$.status", "NumericGreaterThan": 3, "Next": "Done"}]},
         {"type": "number", "title": "Status"}),
        (passed(Parameters={"x.$": "$.status"}), {"type": "string", "title": "Status"}),
    ],
)  # fmt: skip
def test_the_form_has_what_later_states_read_of_the_answer(after: JsonObject, field: JsonObject) -> None:
    state = proposed(sent("sns:publish", "Notify approver", after, TopicArn="t"))

    assert form_of(state) == {"type": "object", "properties": {"status": field}, "required": ["status"]}


ACCEPTED: Final = {"action": "accept", "content": {"status": "approved"}}


@pytest.mark.parametrize(
    ("fields", "path", "accepted", "declined"),
    [
        ({}, "$.status", {"status": "approved"}, {"status": "rejected"}),
        ({"ResultPath": "$.verdict"}, "$.verdict.status",
         {"id": 1, "verdict": {"status": "approved"}}, {"id": 1, "verdict": {"status": "rejected"}}),
        ({"ResultPath": "$.a.b"}, "$.a.b.status",
         {"id": 1, "a": {"b": {"status": "approved"}}}, {"id": 1, "a": {"b": {"status": "rejected"}}}),
        ({"ResultSelector": {"found.$": "$.deep.status", "at": 3}}, "$.found",
         {"found": "approved", "at": 3}, {"found": "rejected", "at": 3}),
        ({"OutputPath": "$.event"}, "$.status", {"status": "approved"}, {"status": "rejected"}),
    ],
)  # fmt: skip
def test_the_state_gives_what_the_old_one_gave_and_no_if_the_user_declines(
    fields: JsonObject, path: str, accepted: JsonObject, declined: JsonObject
) -> None:
    old = waiting("sns:publish", Parameters={"TopicArn": "t", "Message": "Please approve"}, **fields)
    state = proposed(machine(Wait=old, Go=verdict("approved", "rejected", path=path), Done=passed()))

    assert value_of(state["Output"], input={"id": 1}, result=ACCEPTED) == accepted
    assert value_of(state["Output"], input={"id": 1}, result={"action": "decline"}) == declined


@pytest.mark.parametrize("fields", [{}, {"ResultPath": None}])
def test_a_workflow_that_reads_no_answer_fails_if_the_user_declines_and_asks_no_second_time(fields: JsonObject) -> None:
    old = waiting("sns:publish", Parameters={"TopicArn": "t"}, **fields)
    state = proposed(machine(**{"Notify approver": old, "Go": passed()}))

    assert form_of(state) == {"type": "object", "properties": {}}
    assert "$error(" in state["Output"]
    assert "States.QueryEvaluationError" in state["Retry"][0]["ErrorEquals"]


def test_a_state_in_jsonata_keeps_its_output_and_its_handlers() -> None:
    old = waiting(
        "sns:publish",
        Arguments={"TopicArn": "t", "Message": {"order": "{% $states.input.order %}", "to": "approver"}},
        Output="{% $merge([$states.input, {'said': $states.result.verdict}]) %}",
        Catch=[{"ErrorEquals": ["States.Timeout"], "Next": "Go"}],
        TimeoutSeconds=600,
    )
    after = {"Type": "Choice", "Choices": [{"Condition": "{% $states.input.said = 'yes' %}", "Next": "Done"}]}
    state = proposed(in_jsonata(Wait=old, Go={**after, "Default": "Done"}, Done=passed()))

    assert form_of(state)["properties"] == {"verdict": {"type": "string", "title": "Verdict", "enum": ["yes", "no"]}}
    assert value_of(state["Output"], input={"a": 1}, result={"action": "cancel"}) == {"a": 1, "said": "no"}
    assert (state["Catch"], state["TimeoutSeconds"]) == (old["Catch"], 600)
    message = state["Arguments"]["Payload"]["elicitation"]["message"]
    assert value_of(message, input={"order": 7}) == "Wait. order: 7. Your answer?"


def test_the_question_is_what_the_old_state_wrote_and_what_it_sent_comes_back_unasked() -> None:
    payload = {"Subject": "Please review the purchase order", "order.$": "$.detail.order", "token.$": TOKEN}
    old = waiting(
        "lambda:invoke",
        Parameters={"FunctionName": "mail", "Payload": payload},
        Catch=[{"ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": "Done"}],
        TimeoutSecondsPath="$.patience",
    )
    after = verdict("approved", "rejected")
    done = passed(Parameters={"x.$": "$.order"})
    state = proposed(machine(**{"Ask (Callback)": old, "Go": after, "Done": done}))

    payload = state["Arguments"]["Payload"]
    message = value_of(payload["elicitation"]["message"], input={"detail": {"order": "A7"}})
    assert message == "Please review the purchase order. order: A7. Your answer?"
    assert list(form_of(state)["properties"]) == ["status"]
    assert value_of(state["Output"], input={"detail": {"order": "A7"}}, result={"action": "decline"}) == {
        "status": "rejected",
        "order": "A7",
    }
    assert (payload["key"], payload["timeout_seconds"]) == ("ask_callback", "{% $states.input.patience %}")
    assert value_of(state["Catch"][0]["Output"], input={"a": 1}, errorOutput={"Error": "E"}) == {
        "a": 1,
        "error": {"Error": "E"},
    }


ORDER: Final = {"order": {"order_id": "A7", "supplier": "Acme"}, "total": 900}
FORMAT: Final = "States.Format('Order {} to {} costs {} EUR{}', $.order.order_id, $.order.supplier, $.total{})"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"Message.$": FORMAT.format("{}", "{}", "{}", "", "")}, "Order A7 to Acme costs 900 EUR. Your answer?"),
        ({"Subject": "A purchase order needs your approval", "Message.$": FORMAT.format("{}", "{}", "{}", ".", "")},
         "Order A7 to Acme costs 900 EUR. Your answer?"),
        ({"Message.$": FORMAT.format("{}", "{}", "{}", ". Open https://a.example/{}", f", {TOKEN}")},
         "Order A7 to Acme costs 900 EUR. Your answer?"),
        ({"Message.$": r"States.Format('It\'s {}: pay?', $.total)"}, "It's 900: pay. Your answer?"),
        ({"Message.$": "States.Format('Order {} costs {}', $.order.order_id, $.total)"},
         "Order A7 costs 900. Your answer?"),
        ({"Message.$": "States.Format('Approve {} for {}{}', $.order.order_id, $.order.supplier, $.total)"},
         "Approve A7 for Acme900. Your answer?"),
        ({"Message.$": "States.Format('It costs {} EUR. See https://a.example/', $.total)"},
         "It costs 900 EUR. Your answer?"),
        ({"Message.$": "States.Format('Open https://a.example/{} now', $.total)"}, "Ask approver. Your answer?"),
        ({"Message.$": f"States.Format('The order {{}}', {TOKEN})"}, "The order. Your answer?"),
        ({"Message.$": "States.Format($.template, $.total)"}, "Ask approver. Your answer?"),
    ],
)  # fmt: skip
def test_the_question_has_the_values_that_the_old_text_had(parameters: JsonObject, message: str) -> None:
    old = waiting("sns:publish", Parameters={"TopicArn": "t", **parameters})
    state = proposed(machine(**{"Ask approver": old, "Go": verdict("approved", "rejected"), "Done": passed()}))

    text = state["Arguments"]["Payload"]["elicitation"]["message"]
    assert (value_of(text, input=ORDER) if text.startswith("{%") else text) == message


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("'Order ' & $states.input.order.order_id & ' costs ' & $string($states.input.total) & ' EUR.'",
         "Order A7 costs 900 EUR. Your answer?"),
        ("'Order ' & $states.input.order.order_id & '. Open https://a.example/' & $states.context.Task.Token",
         "Order A7. Your answer?"),
        ("$join(['Order', $states.input.total])", "Ask approver. Your answer?"),
    ],
)  # fmt: skip
def test_the_question_has_the_values_that_a_text_in_jsonata_had(expression: str, message: str) -> None:
    old = waiting("sns:publish", Arguments={"TopicArn": "t", "Message": f"{{% {expression} %}}"})
    after = {"Type": "Choice", "Choices": [{"Condition": "{% $states.input.said = 'yes' %}", "Next": "Done"}]}
    state = proposed(
        in_jsonata(**{"Ask approver": {**old, "Next": "Go"}, "Go": {**after, "Default": "Done"}, "Done": passed()})
    )

    text = state["Arguments"]["Payload"]["elicitation"]["message"]
    assert (value_of(text, input=ORDER) if text.startswith("{%") else text) == message


def test_the_lines_for_a_definition_in_json_are_json() -> None:
    (found,) = waiting_for_people(sent("sns:publish", "Notify approver", verdict("approved"), TopicArn="t\u202e"))

    in_yaml, in_json = (
        "\n".join(asking_instead(found, Decider.CALLER).lines()),
        "\n".join(asking_instead(found, Decider.CALLER).lines(as_json=True)),
    )

    assert json.loads(f"{{{in_json}}}") == yaml.safe_load(in_yaml)
    assert in_json.isascii()


def test_what_cannot_be_carried_over_is_named() -> None:
    old = waiting("sns:publish", Parameters={"TopicArn": "approvers"}, Assign={"x.$": "$.y"})

    (found,) = waiting_for_people(machine(Wait=old, Go=passed()))

    assert asking_instead(found, Decider.CALLER).lines()[-1] == "# Assign: carry it over by hand"


def test_what_later_states_read_beyond_the_form_is_named() -> None:
    after = passed(Parameters={f"{one}.$": f"$.{one}" for one in "abcdefghij"})

    (found,) = waiting_for_people(sent("sns:publish", "Notify approver", after, TopicArn="t"))

    last = '# "i", "j", which later states read and the form does not have: carry it over by hand'
    assert asking_instead(found, Decider.CALLER).lines()[-1] == last


def test_the_proposed_retry_is_that_of_the_documents() -> None:
    snippet = re.search(r"```yaml\n(AskForApproval:.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert snippet is not None

    assert yaml.safe_load(snippet[1])["AskForApproval"]["Retry"] == RETRY


@pytest.mark.parametrize(
    ("parameters", "start"),
    [
        ({"x.$": "$.detail.bucket.name"}, "an event starts it: it reads detail.bucket.name: offer it only if a model"),
        ({"x.$": "$.Records[0].s3"}, "an event starts it: it reads Records"),
        ({"x.$": "$.MyTaskToken"}, "another state machine starts it, whose MyTaskToken it takes: offer that one"),
        ({"x.$": "$.AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID"}, "another state machine starts it"),
        ({"x.$": "$.details"}, None),
    ],
)
def test_a_machine_that_an_event_or_another_machine_starts_gets_a_hint(
    parameters: JsonObject, start: str | None
) -> None:
    definition = machine(A=passed(Parameters=parameters))

    hints = [str(one) for one in hints_of(definition, analysed(definition).reads)]

    assert [hint.startswith(start or "none") for hint in hints] == ([] if start is None else [True])


def test_an_event_that_is_only_one_of_two_ways_is_no_hint() -> None:
    rule = {"Variable": "$.detail", "IsPresent": True, "Next": "Event"}
    definition = machine(
        Way={"Type": "Choice", "Choices": [rule], "Default": "Call"},
        Event=passed(Parameters={"x.$": "$.detail.order"}),
        Call=passed(Parameters={"x.$": "$.order"}),
    )

    assert not hints_of(definition, analysed(definition).reads)
