"""What the code of functions says of a state machine's input, once it has been read."""

from dataclasses import replace
from typing import Any

import pytest

from packages.wrap.tests.samples import ARN, in_jsonata, machine, passed, task
from stepwire.json_text import JsonObject
from stepwire_wrap.definitions.drafts import Draft, History, Machine, draft
from stepwire_wrap.definitions.handlers import CodeRead, Handler
from stepwire_wrap.definitions.reads import NUMBER, TEXT, Use

READS = (
    CodeRead(("order", "id"), Use(must=True, types=TEXT, place="app.py:3")),
    CodeRead(("amount",), Use(types=NUMBER, place="app.py:4", said="1 if it is missing.")),
)
SHIP = Handler(READS, is_all=True)
INVOKED = {"FunctionName": "${Ship.Arn}", "Payload.$": "$"}
ORDER = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
AMOUNT = {"type": "number", "description": "1 if it is missing."}
NOTE = "gets the whole input and may read more"


def drafted(definition: JsonObject, handler: Handler = SHIP) -> Draft:
    handlers = {"${Ship.Arn}": handler}
    return draft("orders", Machine(ARN, "Orders", definition, handlers=handlers), History())


@pytest.mark.parametrize(
    "state",
    [
        task(Parameters=INVOKED),
        task(resource="lambda:invoke.waitForTaskToken", Parameters=INVOKED),
        {"Type": "Task", "Resource": "${Ship.Arn}", "End": True},
        {"Type": "Task", "Resource": "${Ship.Arn}", "Parameters": {"order.$": "$.order", "amount.$": "$.amount"},
         "End": True},
    ],
)  # fmt: skip
def test_members_that_a_function_reads_are_those_of_the_input(state: JsonObject) -> None:
    made = drafted(machine(Ship=state))

    schema = made.manifest["input_schema"]
    assert schema["properties"]["order"]["properties"] == ORDER["properties"]
    assert schema["properties"]["amount"] == AMOUNT
    assert "order" in schema["required"]
    assert NOTE not in made.text
    assert "Ship (app.py:3)" in made.text


def test_a_member_that_is_put_together_is_followed_to_its_parts() -> None:
    arguments = {"FunctionName": "${Ship.Arn}", "Payload": {"order": {"id": "{% $states.input.number %}"}}}

    made = drafted(in_jsonata(Ship=task(Arguments=arguments)))

    assert made.manifest["input_schema"]["properties"]["number"]["type"] == "string"


@pytest.mark.parametrize(
    "state",
    [
        task("After", Parameters=INVOKED, Catch=[{"ErrorEquals": ["States.ALL"], "Next": "After"}]),
        task(Parameters={"FunctionName": "${Ship.Arn}", "Payload": {"order": "x"}}),
        task(Parameters={"FunctionName": "${Ship.Arn}"}),
    ],
)
def test_what_a_run_can_do_without_is_not_required(state: JsonObject) -> None:
    handler = replace(SHIP, reads=tuple(replace(one, use=replace(one.use, must=False)) for one in READS))
    is_caught = "Catch" in state

    made = drafted(machine(Ship=state, After=passed()), SHIP if is_caught else handler)

    assert "required" not in made.manifest["input_schema"]


def test_what_an_earlier_state_may_have_made_has_no_type_and_is_not_required() -> None:
    again: dict[str, Any] = {"Variable": "$.again", "BooleanEquals": True, "Next": "Ship"}
    made = drafted(machine(
        Ship={"Type": "Task", "Resource": "${Ship.Arn}", "Next": "Again"},
        Again={"Type": "Choice", "Choices": [again], "Default": "Done"},
        Done=passed(),
    ))  # fmt: skip

    assert made.manifest["input_schema"]["properties"]["amount"] == {"description": "1 if it is missing."}
    assert "required" not in made.manifest["input_schema"]


def test_a_function_of_which_not_all_is_known_is_still_named() -> None:
    made = drafted(machine(Ship=task(Parameters=INVOKED)), replace(SHIP, is_all=False))

    assert f"# Ship: {NOTE}" in made.text


@pytest.mark.parametrize(
    ("defaults", "must", "words"),
    [(("1", "1"), False, "1 if it is missing. "), (("1", "2"), False, ""), (("1", "1"), True, "")],
)
def test_what_several_functions_say_of_a_member_is_said_once(defaults: tuple[str, str], must: bool, words: str) -> None:
    uses = [Use(must=must, default=one, known=(f"x{one}", "y")) for one in defaults]
    handlers = {f"${{F{number}}}": Handler((CodeRead(("kind",), use),)) for number, use in enumerate(uses)}
    states = {f"S{n}": {"Type": "Task", "Resource": f"${{F{n}}}", "ResultPath": None, "Next": "S1"} for n in (0, 1)}
    definition = machine(S0=states["S0"], S1={**states["S1"], "Next": "Done"}, Done=passed())

    made = draft("orders", Machine(ARN, "Orders", definition, handlers=handlers), History())

    known = "".join(f'"x{one}", "y", ' if not n else f'"x{one}", ' for n, one in enumerate(dict.fromkeys(defaults)))
    kind = made.manifest["input_schema"]["properties"]["kind"]
    assert kind["description"] == f"{words}The code knows {known.removesuffix(', ')}."
