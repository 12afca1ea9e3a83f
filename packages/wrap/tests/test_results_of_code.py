"""What states read of a function's result, where its code makes the result of its event."""

from pathlib import Path

import pytest

from packages.wrap.tests.test_code import ANY, an_object, manifest_of
from stepwire.json_text import JsonObject
from stepwire.manifests.reading import read_manifest

TEXT: JsonObject = {"type": "string", "description": 'The workflow knows "yes".'}
STATE = an_object("state", state=TEXT)
PERHAPS = an_object(state=TEXT)
NONE: JsonObject = {"type": "object"}
TEST = {"Type": "Choice", "Choices": [{"Variable": "$.state", "StringEquals": "yes", "Next": "Done"}],
        "Default": "Done"}  # fmt: skip
ARN = {"Fn::GetAtt": ["Work", "Arn"]}
CALLED = {"Resource": ARN}
INVOKED = {
    "Resource": "arn:aws:states:::lambda:invoke",
    "Parameters": {"FunctionName": ARN, "Payload.$": "$"},
    "OutputPath": "$.Payload",
}


def schema_after(folder: Path, code: str, suffix: str, **work: object) -> JsonObject:
    """Return the schema of a state machine that passes its input to a function, and tests `state` of the result."""
    definition = {
        "StartAt": "Work",
        "States": {"Work": {"Type": "Task", **work, "Next": "Test"}, "Test": TEST, "Done": {"Type": "Succeed"}},
    }
    return read_manifest(manifest_of(folder, code, suffix, definition=definition)).input_schema


@pytest.mark.parametrize("work", [CALLED, INVOKED])
@pytest.mark.parametrize(
    ("body", "schema"),
    [
        ("return event", STATE),
        ("return dict(event)", STATE),
        ("return {**event, 'other': 1}", STATE),
        ("event['other'] = 1\n    return event", STATE),
        ("event.update({'other': 1})\n    return event", STATE),
        ("if event.get('a'):\n        raise ValueError\n    return event", an_object("state", a=ANY, state=TEXT)),
        ("return {'state': event['old']}", an_object("old", old=TEXT)),
        ("made = {}\n    made['state'] = event.get('old')\n    return made", an_object(old=TEXT)),
        ("if event['a']:\n        return None\n    return event", an_object("a", a=ANY, state=TEXT)),
        ("return {**event, 'state': compute()}", NONE),
        ("event['state'] = 1\n    return event", NONE),
        ("event.update({'state': 1})\n    return event", NONE),
        ("event.update(compute())\n    return event", NONE),
        ("for key in KEYS:\n        event[key] = 1\n    return event", NONE),
        ("made = {'state': event['old']}\n    made['state'] = compute()\n    return made", an_object("old", old=ANY)),
        ("return {'status': 'ok'}", NONE),
        ("return compute()", NONE),
    ],
)
def test_the_result_of_python_is_followed(tmp_path: Path, body: str, schema: JsonObject, work: JsonObject) -> None:
    code = f"def handler(event, context):\n    {body}\n"

    assert schema_after(tmp_path, code, ".py", **work) == schema


@pytest.mark.parametrize(
    ("body", "schema"),
    [
        ("return event", STATE),
        ("return {...event, other: 1}", STATE),
        ("return Object.assign({}, event, {other: 1})", STATE),
        ("const made = {...event}; made.other = 1; return made", STATE),
        ("const {old} = event; return {state: old}", an_object(old=TEXT)),
        ("Object.assign(event, {state: 1}); return event", NONE),
        ("Object.assign(event, compute()); return event", NONE),
        ("return {...event, state: compute()}", NONE),
        ("event.state = compute(); return event", NONE),
    ],
)
def test_the_result_of_javascript_is_followed(tmp_path: Path, body: str, schema: JsonObject) -> None:
    assert schema_after(tmp_path, f"exports.handler = async (event) => {{ {body} }}", ".js", **CALLED) == schema


def test_what_is_sent_back_later_is_not_the_result_of_the_code(tmp_path: Path) -> None:
    work = {**INVOKED, "Resource": f"{INVOKED['Resource']}.waitForTaskToken", "OutputPath": "$"}

    assert schema_after(tmp_path, "def handler(event, context): return event", ".py", **work) == NONE


@pytest.mark.parametrize(("number", "schema"), [(100, an_object("old", old=TEXT)), (300, an_object("old", old=ANY))])
def test_an_object_of_hundreds_of_members_is_not_followed(tmp_path: Path, number: int, schema: JsonObject) -> None:
    more = "".join(f"    made['k{n}'] = 1\n" for n in range(number))
    code = f"def handler(event, context):\n    made = {{'state': event['old']}}\n{more}    return made\n"

    assert schema_after(tmp_path, code, ".py", **CALLED) == schema


def test_objects_inside_objects_spoil_nothing(tmp_path: Path) -> None:
    code = "def handler(event, context):\n    made = event\n" + "    made = {'x': made}\n" * 3000 + "    return made\n"

    assert schema_after(tmp_path, code, ".py", **CALLED) == NONE


def test_what_is_around_a_function_may_change_its_result(tmp_path: Path) -> None:
    code = "@changed\ndef handler(event, context): return event"

    assert schema_after(tmp_path, code, ".py", **CALLED) == NONE
    assert "gets the whole input and may read more" in manifest_of(tmp_path, code)
