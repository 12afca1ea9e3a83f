"""The console in a real Chromium: the examples run, watched and answered by clicks, in both eras."""

import json
import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from packages.local.tests.console.machines import sixty
from stepwire_local import LocalStack
from stepwire_local.console import Console, Watchers
from tests.browser.chromium import needs_chromium, seen_by_chromium

pytestmark = [pytest.mark.long, needs_chromium]

ROOT = Path(__file__).parents[2]
ERAS = ("2026-07-28", "2025-11-25")
REFUND = [
    ["order_id", "A-1002"],
    ["amount", "100.00"],
    ["currency", {"option": "EUR"}],
    ["reason", "The chair wobbles."],
]
Json = dict[str, Any]


def served(*others: Path, **parameters: str) -> Generator[LocalStack]:
    stack = LocalStack(ROOT / "stack.yaml", others=[*others], parameters=parameters)
    console = Console(stack)
    stack.watcher, stack.front = Watchers(console), console.in_front_of
    with stack:
        yield stack


@pytest.fixture(scope="module")
def stack() -> Iterator[LocalStack]:
    yield from served(ROOT / "examples/template.yaml")


def seen(stack: LocalStack, steps: list[list[Any]], refused: int = 0, *, fails: bool = False, **plan: Any) -> list[Any]:
    """Do the steps; return what each saw. It asks nobody else; its only errors are calls that are refused or fail."""
    found: Json = seen_by_chromium("console.mjs", {"page": f"{stack.base_url}/", "steps": steps, **plan})
    errors = [error for error in found["errors"] if not (fails and "net::ERR_FAILED" in error)]
    assert ["status of 400" in error for error in errors] == [True] * refused
    assert found["outside"] == []
    return found["results"]


@pytest.mark.parametrize("era", ERAS)
def test_a_refund_is_asked_for_answered_and_made(stack: LocalStack, era: str) -> None:
    steps: list[list[Any]] = [
        ["start", "Refund an order", REFUND],
        ["state", "AskForApproval", "waiting"],
        ["press", "Send answer", "Accept"],
        ["status", "completed"],
        ["state", "MakeRefund", "succeeded"],
        ["state", "Refused"],
        ["choose", "MakeRefund"],
        ["graph", True],
        ["messages"],
    ]

    found = seen(stack, steps, era=era)

    assert found[1]["label"] == "AskForApproval, Task, waiting"
    assert found[5]["label"] == "Refused, Pass, not reached"
    assert '"approved": 100' in found[6]
    assert (found[7]["states"], found[7]["errors"]) == (11, 2)
    assert found[7]["taken"] == 6
    rows, opened = found[8]["rows"], found[8]["opened"]
    assert {"tools/call"} <= {method for of, method in rows if of == era}
    assert f"mcp-protocol-version: {era}" in opened
    assert '"order_id": "A-1002"' in opened


def test_somebody_new_starts_with_an_example_and_sees_the_newest_tasks_and_what_waits(stack: LocalStack) -> None:
    steps: list[list[Any]] = [
        ["open", "#/"],
        ["example", "Refund an order"],
        ["state", "AskForApproval", "waiting"],
        ["times"],
        ["within", ".legend p"],
        ["open", "#/"],
        ["text", ".welcome p:nth-of-type(2)"],
        ["text", ".recent li"],
        ["axe"],
        ["size", 390, 800, "light"],
        ["visible", "nav"],
        ["press_menu"],
        ["visible", "nav"],
        ["axe"],
    ]

    found = seen(stack, steps)

    assert found[1] == {"order_id": "A-1002", "amount": "100.00", "reason": "The chair wobbles."}
    assert {bool(re.fullmatch(r"\d\d:\d\d:\d\d UTC", one)) for one in found[3]} == {True}
    assert found[4]["bottom"] <= 900
    assert re.fullmatch(r"\d+ tasks? waits? for an answer\.", found[6])
    assert found[7].startswith("Refund an order")
    assert (found[8], found[13]) == ([], []), "what axe found"
    assert (found[9], found[10], found[12]) == (False, 0, 1), "on a phone, the lists are a menu"


def test_a_card_writes_its_question_once_and_its_button_looks_as_the_consoles(stack: LocalStack) -> None:
    steps: list[list[Any]] = [["start", "Refund an order", REFUND], ["state", "AskForApproval", "waiting"], ["card"]]

    (*_, card) = seen(stack, steps)

    assert card["text"].count("Refund 100.00 EUR for order A-1002 (Office chair)?") == 1
    assert "Tell the assistant" not in card["text"]
    assert card["send"] == card["start"]


@pytest.mark.parametrize("era", ERAS)
def test_a_data_set_is_profiled_and_each_column_seen(stack: LocalStack, era: str) -> None:
    steps: list[list[Any]] = [
        ["start", "Profile a CSV dataset", [["csv", "a,b,c\n1,2,3\n4,5,6\n"]]],
        ["status", "completed"],
        ["state", "ProfileColumn", "succeeded"],
        ["choose", "ProfileColumn"],
        ["graph", True],
    ]

    found = seen(stack, steps, era=era)

    assert found[2]["label"] == "ProfileColumn, Task, passed, 3 times"
    assert "3 of 3" in found[3]
    assert (found[4]["states"], found[4]["frames"]) == (8, 1)


def test_a_form_that_is_filled_in_stays_when_another_protocol_is_chosen(stack: LocalStack) -> None:
    message = ["Message", "Written while the tools of the other protocol were asked for."]
    steps: list[list[Any]] = [
        ["protocol", "2025-11-25", "Wait and echo", message],
        ["status", "completed"],
        ["messages"],
    ]

    found = seen(stack, steps, era="2026-07-28")

    assert found[0] == message[1]
    called = {era for era, method in found[2]["rows"] if method == "tools/call"}
    assert called == {"2025-11-25"}, "the call is one of the protocol that was chosen last"


def test_a_form_keeps_what_is_written_in_it_until_its_call_has_begun(stack: LocalStack) -> None:
    message, order = ["Message", "hello"], ["order_id", "A-1"]
    steps: list[list[Any]] = [
        ["elsewhere", "Wait and echo", [message], "Refund an order", order],
        ["json", "Profile a CSV dataset", ["csv", "a,b"], '{"csv": "c,d"}'],
        ["skip", "Refund an order"],
        ["lost", "2025-11-25", "Wait and echo", message],
    ]

    elsewhere, turned, skipped, lost = seen(stack, steps, fails=True)

    assert elsewhere == {"written": "A-1", "kept": "A-1", "calls": 1, "focused": "Start", "again": ""}
    assert json.loads(turned["json"])["csv"] == "a,b"
    assert turned["said"].startswith("This is no JSON: ")
    assert turned["field"] == "c,d"
    assert skipped == ["main", "Refund an order"]
    assert lost == {
        "said": "The tools of this protocol cannot be read at the moment. Please try again.",
        "written": "hello",
    }


def test_an_answer_that_is_half_written_is_there_when_its_task_is_opened_again(stack: LocalStack) -> None:
    steps: list[list[Any]] = [
        ["start", "Refund an order", REFUND],
        ["state", "AskForApproval", "waiting"],
        ["half", "Note", "Half a sentence", "2025-11-25"],
        ["press", "Send answer", "Accept"],
        ["status", "completed"],
    ]

    found = seen(stack, steps, era="2026-07-28")

    assert found[2] == ["Half a sentence"] * 2


def test_what_changes_on_the_page_takes_nothing_from_whoever_uses_it(stack: LocalStack) -> None:
    steps: list[list[Any]] = [
        ["start", "Refund an order", REFUND],
        ["state", "AskForApproval", "waiting"],
        ["listed"],
        ["twice"],
    ]

    found = seen(stack, steps)

    assert found[2] == "tasks", "the keyboard stays at a task whose status changes"
    rows, different = found[3]
    assert rows == different, "each message is there once"


def test_a_failure_a_cancel_and_attempts_are_shown(stack: LocalStack) -> None:
    steps: list[list[Any]] = [
        ["start", "Wait and echo", [["message", "hello"], ["error", "Made.Up"], ["cause", "to see it"]]],
        ["status", "completed, with an error"],
        ["choose", "FailOnPurpose"],
        ["start", "Wait and echo", [["message", "hello"], ["seconds", "600"]]],
        ["state", "Wait", "waiting"],
        ["press", "Cancel task", "Cancel the task"],
        ["press", "Yes, stop it", "Really cancel?"],
        ["status", "cancelled"],
        ["state", "Wait", "aborted"],
        ["start", "Reserve an item", [["item", "chair"], ["in_stock_at_attempt", "2"]]],
        ["status", "completed"],
        ["state", "Reserve", "succeeded"],
        ["all"],
    ]

    found = seen(stack, steps)

    assert "Made.Up" in found[2]
    assert "to see it" in found[2]
    assert {"tools/list", "tools/call"} <= set(found[12])


def test_a_task_opens_with_its_card_although_an_older_list_of_tasks_arrives_after_it(stack: LocalStack) -> None:
    (opened,) = seen(stack, [["overtaken", "Wait and echo", [["message", "hello"]]]])

    assert opened["title"] == "Wait and echo"
    assert opened["cards"] == 1


def test_a_field_that_is_wrong_keeps_its_hint_and_the_keyboard_goes_on_in_what_was_chosen(stack: LocalStack) -> None:
    texts, focused = seen(stack, [["empty", "Refund an order"], ["keyboard", "Wait and echo"]])

    assert texts[:2] == ["The order's number, e.g. A-1002.", "Please fill this in."]
    assert focused[0] == "H1"
    assert focused[1] in ("BUTTON", "message")


def test_what_does_not_exist_is_named_and_offers_nothing_to_cancel(stack: LocalStack) -> None:
    unknown = "01kyyk41g000000000000000000000000001"
    steps: list[list[Any]] = [
        ["open", "#/tools/nonsense"],
        ["text", "[role=alert]"],
        ["open", "#/nonsense"],
        ["text", "[role=alert]"],
        ["open", f"#/tasks/{unknown}"],
        ["text", ".panel p:not(:empty)"],
        ["visible", ".panel button, .legend"],
    ]

    found = seen(stack, steps, refused=1)

    assert (found[1], found[3]) == ("There is no tool nonsense.", "There is no such page.")
    assert found[5].startswith("The task cannot be read: Task not found")
    assert found[6] == 0


def test_what_was_chosen_is_in_sight_and_the_lists_end_with_the_window(stack: LocalStack) -> None:
    steps: list[list[Any]] = [
        ["size", 1280, 800, "light"],
        ["start", "Wait and echo", [["message", "hello"]]],
        ["status", "completed"],
        ["choose", "Echo"],
        ["within", ".state-detail h2"],
        ["within", "nav"],
        ["size", 390, 800, "light"],
        ["within", "header"],
        ["open", "#/tools/profile_dataset"],
        ["size", 1280, 800, "light"],
        ["within", "form.call button.primary"],
    ]

    found = seen(stack, steps)

    assert 0 <= found[4]["top"] < found[4]["bottom"] <= 800
    assert found[5]["bottom"] == 800
    assert found[7]["bottom"] <= 72
    assert found[10]["bottom"] <= 800


def test_axe_finds_nothing_in_both_themes_and_at_small_widths(stack: LocalStack) -> None:
    views: list[list[Any]] = [["axe"], ["size", 1360, 900, "dark"], ["axe"], ["size", 320, 700, "light"], ["axe"]]
    steps: list[list[Any]] = [
        *views,
        ["size", 1360, 900, "light"],
        ["start", "Wait and echo", [["message", "hello"]]],
        ["status", "completed"],
        ["choose", "Echo"],
        *views,
        ["messages"],
        ["axe"],
        ["all"],
        ["axe"],
    ]

    found = seen(stack, steps)

    names = [step[0] for step in steps]
    assert [one for name, one in zip(names, found, strict=True) if name == "axe"] == [[]] * 8
    assert [one for name, one in zip(names, found, strict=True) if name == "size"] == [False] * 5


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    path = tmp_path_factory.mktemp("large") / "template.yaml"
    path.write_text(json.dumps(large_template()), encoding="utf-8")
    yield from served(path)


def large_template(**more: str) -> Json:
    """Return a template with tools of 60 states, in which no task runs; one asks first.

    `more`: names of further such tools, with what their manifests say besides.
    """
    manifest = "name: large\ndescription: Has 60 states.\nstate_machine: ${Machine}\n"
    # Every choice is about n; 9 takes the default of each, and waits for ever.
    manifest += "input_schema: {type: object, properties: {n: {type: integer, default: 9}}}\n"
    asks = "confirm: {message: Begin, schema: {type: object, properties: {why: {type: string}}}}\n"
    tags = {"stepwire:endpoint": {"Ref": "Endpoint"}}
    machine = {
        "Type": "AWS::Serverless::StateMachine",
        "Properties": {"Definition": without_tasks(sixty()), "Tags": tags},
    }
    said = {"large": "", "careful": asks, **more}
    tools = {name: manifest.replace("name: large", f"name: {name}") + text for name, text in said.items()}
    resources = {"Machine": machine, **{name.title(): registered(name, text) for name, text in tools.items()}}
    parameters = {"Endpoint": {"Type": "String"}}
    return {"Transform": "AWS::Serverless-2016-10-31", "Parameters": parameters, "Resources": resources}


def registered(name: str, manifest: str) -> Json:
    """Return the parameter that registers a tool."""
    place = {"Fn::Sub": f"/stepwire/${{Endpoint}}/tools/{name}"}
    value = {"Name": place, "Type": "String", "Value": {"Fn::Sub": manifest}}
    return {"Type": "AWS::SSM::Parameter", "Properties": value}


def without_tasks(definition: Json) -> Json:
    """Replace what a task calls by what is here: an event."""
    entries: Json = {"Entries": [{"Source": "test", "DetailType": "test", "Detail": {}}]}
    for state in definition["States"].values():
        if state["Type"] == "Task":
            state |= {"Resource": "arn:aws:states:::events:putEvents", "Parameters": entries}
    return definition


def test_a_machine_of_sixty_states_is_drawn_whole(large: LocalStack) -> None:
    steps: list[list[Any]] = [
        ["start", "large", []],
        ["state", "Wait", "waiting"],
        ["graph"],
        ["choose", "CheckNeeded"],
        ["press", "Cancel task", "Cancel the task"],
        ["press", "Yes, stop it", "Really cancel?"],
        ["status", "cancelled"],
        ["asked", "careful", ["why", "I know what I do."]],
    ]

    found = seen(large, steps, fails=True)

    assert found[7] == {"said": "Failed to fetch", "written": "I know what I do."}, "an answer that did not arrive"
    assert found[2]["states"] == 60
    assert found[2]["frames"] == 5
    assert "passed" in found[3] or "succeeded" in found[3]
