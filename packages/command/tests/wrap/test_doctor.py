"""What would go wrong later, one line each: where, what, and what to do."""

import json
from typing import Any

import pytest

from packages.command.tests.wrap.account import PASS, PREFIX, Account
from packages.wrap.tests.samples import in_jsonata, machine, passed, task
from stepwire.json_text import JsonObject, write
from stepwire_cli.account.doctor import Doctor
from stepwire_wrap.definitions.asking import RETRY
from stepwire_wrap.wording import RIGHT

WHERE = "/stepwire/live/tools/orders"
ID: JsonObject = {"type": "string", "description": "The order's number."}
GOOD: JsonObject = {
    "name": "orders",
    "description": "Ships an order that was paid. Use it after the payment.",
    "state_machine": "Orders",
    "input_schema": {"type": "object", "properties": {"id": ID}, "required": ["id"]},
}


def account_of(definition: JsonObject = PASS, kind: str = "STANDARD", **manifest: Any) -> Account:
    account = Account(parameters={WHERE: write({**GOOD, **manifest})})
    account.add("Orders", definition, kind=kind, **{"stepwire:endpoint": "live"})
    return account


def found_in(account: Account) -> list[str]:
    found = Doctor(account.calls, account.reader(), "live").findings()
    return [f"{one.where}: {one.what}; {one.fix}" for one in found]


def test_every_state_machine_of_a_race_is_looked_at() -> None:
    account = account_of(race={"arms": [{"name": "a"}, {"name": "b", "state_machine": "Express"}]})
    account.add("Express", PASS)

    assert found_in(account) == [
        f"{WHERE}: its state machine has no tag, so the endpoint may not start it; tag {PREFIX}Express with "
        "stepwire:endpoint=live, or name it in StateMachineArns"
    ]


@pytest.mark.parametrize("allowed", [f"{PREFIX}x, {PREFIX}Orders", f"{PREFIX}Ord*"])
def test_a_state_machine_that_the_stack_names_needs_no_tag(allowed: str) -> None:
    account = account_of()
    account.tags[f"{PREFIX}Orders"].clear()
    account.settings["StateMachineArns"] = allowed

    assert found_in(account) == []


def test_the_state_machines_of_the_account_are_listed_once_whatever_number_of_tools_names_one() -> None:
    account = account_of()
    for number in range(10):
        name = f"orders_{number}"
        account.parameters[f"/stepwire/live/tools/{name}"] = write({**GOOD, "name": name})

    assert found_in(account) == []
    assert account.count["list_state_machines"] == 1


def test_a_good_tool_has_no_finding() -> None:
    account = account_of(machine(A=passed(Parameters={"x.$": "$.id"})))
    account.run("Orders", {"id": "a"}, seconds=3600)

    assert found_in(account) == []


@pytest.mark.parametrize(
    ("definition", "manifest", "line"),
    [
        ({**PASS, "TimeoutSeconds": 864_000}, {},
         f"{WHERE}: ttl is 7 days, and runs may take 10 days (TimeoutSeconds): tasks end before their work; "
         "set ttl to P11D or more"),
        ({**PASS, "TimeoutSeconds": 34_560_000}, {"ttl": "P30D"},
         f"{WHERE}: ttl is 30 days, and runs may take 400 days (TimeoutSeconds): tasks end before their work; "
         "shorten TimeoutSeconds: a task runs for 365 days at most"),
        (PASS, {"ttl": "PT1M"},
         f"{WHERE}: ttl is 1 minute, and a recent run took 1.5 minutes: tasks end before their work; "
         "set ttl to P1D or more"),
        (PASS, {"task_support": "forbidden"},
         f"{WHERE}: task_support is forbidden, and a recent run took 1.5 minutes: most clients wait less; "
         "set task_support to optional"),
        (machine(A=passed(Parameters={"x.$": "$.order.id"})), {},
         f"{WHERE}: order.id: runs fail without it, and input_schema does not have it; "
         "add it to input_schema"),
        (machine(A=passed(Parameters={"x.$": "$.id"})), {"input_schema": {"type": "object", "properties": {"id": {}}}},
         f"{WHERE}: id: runs fail without it, and input_schema does not require it; add it to input_schema"),
        (PASS, {"description": "Orders."},
         f"{WHERE}: description: a model cannot tell from it when to use the tool; "
         f"{RIGHT}"),
        (PASS, {"input_schema": {"type": "object", "properties": {"a": {}, "b": {"type": "string"}}}},
         f"{WHERE}: input_schema.properties.a: it has no description, so a model guesses; "
         "say what it is, its unit, an example"),
        (PASS, {"input_schema": {"type": "object", "properties": {"a": {"type": "array", "items": {}}}}},
         f"{WHERE}: at input_schema/properties/a: AgentCore Gateway refuses `items: {{}}`; "
         "write it in another way, if you use that gateway"),
        (PASS, {"output_schema": {"type": "object", "properties": {"a": {"default": None}}}},
         f"{WHERE}: at output_schema/properties/a: AgentCore Gateway refuses `default: null`; "
         "write it in another way, if you use that gateway"),
        (PASS, {"input_schema": {"type": "object", "properties": {"a": {"anyOf": [{"type": "null"}, {}]}}}},
         f"{WHERE}: at input_schema/properties/a: AgentCore Gateway refuses anyOf with null; "
         "write it in another way, if you use that gateway"),
        (in_jsonata(A=passed(Output={"x": "{% ( %}"})), {},
         f"{WHERE}: state A: this is no JSONata: (; correct the expression"),
    ],
)  # fmt: skip
def test_what_would_go_wrong_is_one_line(definition: JsonObject, manifest: JsonObject, line: str) -> None:
    account = account_of(definition, **manifest)
    account.run("Orders", {"id": "a", "order": {"id": "a"}}, seconds=90)

    assert line in found_in(account)


def test_an_argument_with_a_default_is_always_there() -> None:
    properties: JsonObject = {"id": {**ID, "default": "a"}}

    account = account_of(
        machine(A=passed(Parameters={"x.$": "$.id"})), input_schema={"type": "object", "properties": properties}
    )

    assert found_in(account) == []


def test_what_runs_succeeded_without_is_no_finding_whatever_the_definition_says() -> None:
    account = account_of(machine(A=passed(Parameters={"x.$": "$.order.id"})))
    account.run("Orders", {"id": "a"})

    assert found_in(account) == []


def test_a_manifest_with_faults_has_a_line_for_each() -> None:
    account = account_of(retries=3, ttl="soon")

    lines = found_in(account)

    assert len(lines) == 2
    assert all(line.startswith(f"{WHERE}: ") and line.endswith("; correct the field") for line in lines)


@pytest.mark.parametrize(
    ("manifest", "line"),
    [
        ({"state_machine": "Gone"},
         f"{WHERE}: state_machine: Gone: no state machine of this account and Region has that name; "
         "there are 1; check --region and --profile; correct it, or remove the parameter"),
        ({"state_machine": f"{PREFIX}Gone"},
         f"{WHERE}: state_machine: {PREFIX}Gone: there is none in this account and Region; "
         "correct it, or remove the parameter"),
        ({"state_machine": "arn:aws:lambda:eu-central-1:1:function:x"}, f"{WHERE}: state_machine: "
         "arn:aws:lambda:eu-central-1:1:function:x is no ARN of a state machine; correct it, or remove the parameter"),
        ({"name": "order"}, f"{WHERE}: name: 'order' is not the last part of the parameter's name; "
         "write name: orders"),
    ],
)  # fmt: skip
def test_a_manifest_that_names_the_wrong_thing_is_one_line(manifest: JsonObject, line: str) -> None:
    assert found_in(account_of(**manifest)) == [line]


@pytest.mark.parametrize(
    ("tags", "what"),
    [
        ({}, "its state machine has no tag"),
        ({"stepwire:endpoint": "other"}, "its state machine's tag names other"),
    ],
)
def test_a_machine_without_consent_is_one_line(tags: dict[str, str], what: str) -> None:
    account = account_of()
    account.tags[f"{PREFIX}Orders"] = tags

    (line,) = found_in(account)

    assert line == (
        f"{WHERE}: {what}, so the endpoint may not start it; "
        f"tag {PREFIX}Orders with stepwire:endpoint=live, or name it in StateMachineArns"
    )


def test_a_machine_of_another_account_is_not_looked_for_in_this_one() -> None:
    elsewhere = "arn:aws:states:eu-central-1:210987654321:stateMachine:Theirs"
    account = account_of(state_machine=elsewhere, role="arn:aws:iam::210987654321:role/lets-in")

    assert found_in(account) == []
    assert account.count["describe_state_machine"] == 0


def test_an_express_machine_that_is_asked_to_be_a_task_is_one_line() -> None:
    assert found_in(account_of(kind="EXPRESS", task_support="required")) == [
        f"{WHERE}: task_support: a state machine of type EXPRESS never runs as a task: leave it out, or write "
        "forbidden; correct the manifest"
    ]
    assert found_in(account_of(kind="EXPRESS")) == []


def test_an_express_machine_that_may_take_longer_than_a_call_waits_is_one_line() -> None:
    (line,) = found_in(account_of({**PASS, "TimeoutSeconds": 120}, kind="EXPRESS"))

    assert "of type EXPRESS, and may run 2 minutes (TimeoutSeconds): a call waits 15 seconds" in line


@pytest.mark.parametrize("qualifier", ["live", "3"])
def test_a_version_is_described_and_an_alias_stands_for_its_most_used_version(qualifier: str) -> None:
    account = account_of(state_machine=f"{PREFIX}Orders:{qualifier}")
    account.publish("Orders", "3", json.loads(account.machines["Orders"]["definition"]))
    account.aliases["Orders:live"] = [("3", 100)]

    assert found_in(account) == []


@pytest.mark.parametrize(
    ("elicitation", "fault"),
    [
        ({"message": "Refund?", "requestedSchema": {"type": "object", "properties": {"a": {"type": "object"}}}},
         "at /requestedSchema/properties/a"),
        ({"requestedSchema": {"type": "object", "properties": {}}}, '"message" is a required property'),
        ({"message": "Open", "mode": "url", "url": "http://example.com"}, "at /url: it must be an https URL"),
    ],
)  # fmt: skip
def test_a_question_that_no_client_could_show_is_one_line(elicitation: JsonObject, fault: str) -> None:
    account = account_of(asking(elicitation))

    (line,) = found_in(account)

    assert line.startswith(f"{WHERE}: the question of state Ask: ")
    assert fault in line


def asking(elicitation: Any, **payload: Any) -> JsonObject:
    asked = {"execution_arn": "{% 1 %}", "task_token": "{% 2 %}", "key": "k", "elicitation": elicitation, **payload}
    arguments = {"FunctionName": "f", "Payload": asked}
    return in_jsonata(Ask=task(resource="lambda:invoke.waitForTaskToken", Arguments=arguments, Retry=RETRY))


def test_a_good_question_and_a_computed_one_have_no_finding() -> None:
    good: JsonObject = {
        "message": "{% 'Refund ' & $x & '?' %}",
        "requestedSchema": {"type": "object", "properties": {}},
    }

    properties = {"amount": {"type": "number", "minimum": 1, "maximum": "{% $max %}", "default": "{% $x %}"}}
    limited: JsonObject = {"message": "How much?", "requestedSchema": {"type": "object", "properties": properties}}

    assert found_in(account_of(asking(good))) == []
    assert found_in(account_of(asking(limited))) == []
    assert found_in(account_of(asking("{% $made %}"))) == []


def test_a_question_with_a_bad_key_or_without_its_task_has_a_line_each() -> None:
    good: JsonObject = {"message": "Go on?", "requestedSchema": {"type": "object", "properties": {}}}
    definition = asking(good, key="no spaces")
    del definition["States"]["Ask"]["Arguments"]["Payload"]["task_token"]

    lines = found_in(account_of(definition))

    assert len(lines) == 2
    assert "its Payload has no task_token" in lines[0]
    assert "key: 'no spaces' must match" in lines[1]


def test_a_question_that_may_be_lost_is_one_line() -> None:
    definition = asking({"message": "Go on?", "requestedSchema": {"type": "object", "properties": {}}})
    del definition["States"]["Ask"]["Retry"]

    assert found_in(account_of(definition)) == [
        f"{WHERE}: Orders: state Ask has no Retry for a question that could not be recorded (Stepwire.NotRecorded); "
        f'add "Retry": {write(RETRY)}'
    ]


def test_what_every_arm_of_a_race_is_given_by_the_manifest_is_no_finding() -> None:
    account = account_of(
        machine(A=passed(Parameters={"x.$": "$.carrier", "y.$": "$.price"})),
        race={
            "arms": [
                {"name": "a", "constants": {"carrier": "a", "price": 1}},
                {"name": "b", "constants": {"carrier": "b"}},
            ]
        },
    )

    assert found_in(account) == [
        f"{WHERE}: price: runs fail without it, and input_schema does not have it; add it to input_schema"
    ]


def test_what_the_function_refused_is_told_unless_it_was_found_here() -> None:
    account = account_of()
    account.refused = [{"tool": "orders", "source": WHERE, "reason": "scopes: unknown", "serves_previous": True}]

    (line,) = found_in(account)

    assert line == (f"{WHERE}: refused: scopes: unknown (the last good manifest still serves); correct it and deploy")


@pytest.mark.parametrize(
    ("manifest", "is_told"),
    [({"description": "Ship."}, True), ({"input_schema": {"type": "objekt"}}, False)],
    ids=["beside what is only doubtful", "not where the manifest itself is wrong"],
)
def test_what_the_function_refused_is_told_once(manifest: Any, is_told: bool) -> None:
    account = account_of(**manifest)
    account.refused = [{"tool": "orders", "source": WHERE, "reason": "a consent", "serves_previous": False}]

    found = found_in(account)

    assert (f"{WHERE}: refused: a consent; correct it and deploy" in found) is is_told
    assert len(found) > is_told


def test_a_refused_file_beside_a_good_manifest_is_told() -> None:
    account, where = account_of(description="Orders the goods of a customer."), f"{WHERE}/refunds/main.md"
    refused = {
        "tool": "orders",
        "source": where,
        "reason": "name: is missing",
        "serves_previous": False,
        "what": "colour",
    }
    account.refused = [refused]

    assert f"{where}: refused: name: is missing; correct it and deploy" in found_in(account)


def test_what_may_not_be_read_is_told_and_the_rest_is_judged() -> None:
    account = account_of(description="Orders.")
    account.faults["get_item"] = ["AccessDeniedException"]
    account.faults["list_executions"] = ["AccessDeniedException"]

    lines = found_in(account)

    assert [line for line in lines if "these credentials may not" in line].__len__() == 2
    assert any("a model cannot tell" in line for line in lines)


def test_an_endpoint_without_tools_is_one_line() -> None:
    (line,) = found_in(Account())

    assert line == ("/stepwire/live/tools/: no tool is registered; check the endpoint's name and the Region")


def test_a_finding_is_one_line_with_its_fix() -> None:
    (found,) = Doctor(account_of(name="order").calls, account_of().reader(), "live").findings()

    assert str(found) == (
        f"{WHERE}: name: 'order' is not the last part of the parameter's name. Fix: write name: orders."
    )
