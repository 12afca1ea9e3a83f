"""`stepwire doctor FOLDER`: what the compiler refuses, and what would go wrong later; one line a finding."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from stepwire_cli.app import run
from stepwire_cli.exits import Exit

GOOD: dict[str, Any] = {
    "name": "settle_invoices",
    "description": "Settles all open invoices of a customer. Takes some minutes.",
    "state_machine": "SettleInvoices",
    "input_schema": {
        "type": "object",
        "properties": {"customer": {"type": "string", "description": "The customer's number."}},
        "required": ["customer"],
    },
}


def with_input(**changes: Any) -> dict[str, Any]:
    """Return the good manifest with another schema."""
    return {**GOOD, "input_schema": {**GOOD["input_schema"], **changes}}


def examined(folder: Path, capsys: pytest.CaptureFixture[str], **files: object) -> tuple[int, list[str]]:
    """Write files, and return the exit code and the findings."""
    for name, content in files.items():
        text = content if isinstance(content, str) else yaml.safe_dump(content)
        (folder / f"{name}.yaml").write_text(text)
    code = run(["doctor", str(folder)])
    return code, [line.removeprefix(f"{folder}/") for line in capsys.readouterr().out.splitlines()]


def test_a_good_manifest_has_no_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert examined(tmp_path, capsys, good=GOOD) == (Exit.DONE, [])


@pytest.mark.parametrize(
    ("manifest", "start"),
    [
        ({**GOOD, "name": "settle.invoices"}, "it.yaml: name: hosts that pass tools to a model take only letters"),
        ({**GOOD, "name": "a" * 65}, "it.yaml: name: hosts"),
        ({**GOOD, "description": "TODO: describe this workflow."}, "it.yaml: description: it is a placeholder."),
        ({**GOOD, "description": "Settle invoices"}, "it.yaml: description: a model cannot tell from it"),
        ({**GOOD, "description": "x" * 1_025}, "it.yaml: description: it has 1025 characters"),
        (
            {**GOOD, "state_machine": "arn:aws:lambda:eu-central-1:123456789012:function:X"},
            "it.yaml: state_machine: 'arn",
        ),
        (with_input(oneOf=[{"required": ["customer"]}]), "it.yaml: input_schema.oneOf: some model APIs refuse it"),
        (with_input(required=["client"]), "it.yaml: input_schema.required: client is no property, so a model"),
        (
            with_input(required=["client"], additionalProperties=False),
            "it.yaml: input_schema.required: client is no property, so no call can be right.",
        ),
        (
            with_input(properties={"customer": {"type": "string"}}),
            "it.yaml: input_schema.properties.customer: it has no",
        ),
        (
            with_input(properties={"customer": {"type": "string", "description": "A number.", "default": 17}}),
            "it.yaml: input_schema: at /properties/customer/default: ",
        ),
        (
            with_input(
                properties={"customer": {"$ref": "#/$defs/id", "description": "A number."}},
                **{"$defs": {"id": {"type": "string"}}},
            ),
            "it.yaml: input_schema: AgentCore Gateway refuses a target whose tools have $ref, $defs.",
        ),
        ({**GOOD, "poll_interval": "PT2M"}, "it.yaml: poll_interval: it is longer than longest_poll_interval."),
        ({**GOOD, "ttl": "PT1M"}, "it.yaml: ttl: a task may expire between two polls."),
        (
            {**GOOD, "annotations": {"readOnlyHint": True, "destructiveHint": True}},
            "it.yaml: annotations: the tool is both read-only and destructive.",
        ),
        ({**GOOD, "retries": 3}, "it.yaml: retries: unknown field"),
        ({**GOOD, "input_schema": {"type": "array"}}, "it.yaml: input_schema: at type: must be 'object'"),
        ("", "it.yaml: the file is empty"),
        ("name: [", "it.yaml: line 1"),
    ],
)
def test_each_finding_says_where_and_what(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], manifest: object, start: str
) -> None:
    code, found = examined(tmp_path, capsys, it=manifest)

    assert code == Exit.FAILED
    assert len(found) == 1, found
    assert found[0].startswith(start)


@pytest.mark.parametrize(
    ("field", "is_refused"),
    [({"type": "object"}, True), ({"type": "string"}, False), ({"type": "string", "maxLength": "{% $n %}"}, False)],
)
def test_a_question_that_no_client_would_be_shown_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], field: object, is_refused: bool
) -> None:
    asked = {"message": "Well?", "requestedSchema": {"type": "object", "properties": {"it": field}}}
    payload = {"elicitation": asked, "execution_arn": "{% $states.context.Execution.Id %}", "task_token": "{% $t %}"}
    state = {"Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken", "Arguments": {"Payload": payload}}
    definition = {"States": {"Both": {"Branches": [{"States": {"Ask": state}}]}}}
    (tmp_path / "it.asl.json").write_text(json.dumps(definition))

    code, found = examined(tmp_path, capsys)

    assert code == (Exit.FAILED if is_refused else Exit.DONE)
    assert [line.partition(": the question")[0] for line in found] == (
        ["it.asl.json: States.Both.Branches[0].States.Ask"] if is_refused else []
    )


def test_a_definition_beside_the_manifests_is_not_taken_for_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "it.asl.yaml").write_text("StartAt: A\nStates: {A: {Type: Succeed}}\n")

    assert examined(tmp_path, capsys, good=GOOD) == (Exit.DONE, [])


def test_two_manifests_of_one_name_are_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = examined(tmp_path, capsys, one=GOOD, two=GOOD)

    assert code == Exit.FAILED
    assert "is also the name in" in found[0]


def test_what_is_no_folder_and_what_is_empty_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", str(tmp_path / "nowhere")]) == Exit.USAGE
    assert capsys.readouterr().err == f"error: {tmp_path / 'nowhere'} is no folder.\n"
    assert run(["doctor", str(tmp_path)]) == Exit.USAGE
    assert "has no manifest" in capsys.readouterr().err


def test_findings_are_json_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "it.yaml").write_text(yaml.safe_dump({**GOOD, "description": "TODO"}))

    code = run(["--json", "doctor", str(tmp_path)])

    (finding,) = json.loads(capsys.readouterr().out)
    assert code == Exit.FAILED
    assert finding["where"].endswith("it.yaml: description")
    assert finding["fix"].startswith("say what the tool does")
