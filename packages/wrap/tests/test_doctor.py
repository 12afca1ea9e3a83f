"""`stepwire doctor FOLDER`: what the compiler refuses, and what would go wrong later; one line a finding."""

import json
import os
import subprocess
import sys
from pathlib import Path
from shutil import which
from typing import Any, Final

import pytest
import yaml

from stepwire_wrap.__main__ import main
from stepwire_wrap.definitions.asking import RETRY
from stepwire_wrap.exits import Exit

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
    code = main(["doctor", str(folder)])
    return code, [line.removeprefix(f"{folder}/") for line in capsys.readouterr().out.splitlines()]


def test_a_good_manifest_has_no_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = with_input(properties={"customer": {"enum": ["C-7", 8], "description": "Whose invoices."}})

    assert examined(tmp_path, capsys, good=GOOD, chosen={**chosen, "name": "chosen"}) == (Exit.DONE, [])


@pytest.mark.parametrize(
    ("manifest", "start"),
    [
        ({**GOOD, "name": "settle.invoices"}, "it.yaml: name: hosts that pass tools to a model take only letters"),
        ({**GOOD, "name": "a" * 65}, "it.yaml: name: hosts"),
        ({**GOOD, "description": "TODO: describe this workflow."}, "it.yaml: description: it is a placeholder."),
        ({**GOOD, "description": "Settle invoices"}, "it.yaml: description: a model cannot tell from it"),
        (
            {**GOOD, "description": f"Settles all open invoices of {'x' * 996}"},
            "it.yaml: description: it has 1025 characters",
        ),
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
            "it.yaml: input_schema.properties.customer: it has no description",
        ),
        (
            with_input(properties={"customer": {"description": "A number."}}),
            "it.yaml: input_schema.properties.customer: it has no type, so a model may send any value.",
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


def asking(payload: object, **more: object) -> dict[str, Any]:
    """Return a definition with a state that asks, in a branch."""
    state = {"Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken", "Arguments": {"Payload": payload}, **more}
    return {"StartAt": "Both", "States": {"Both": {"Branches": [{"States": {"Ask": state}}]}}}


MISTYPED: dict[str, Any] = {
    "key": "apporval",
    "elicitation": {"message": "May I?", "requestedSchema": {"type": "object", "properties": {}}},
    "execution_arn": "{% 1 %}",
    "task_token": "{% $t %}",
}


@pytest.mark.parametrize("is_in_a_template", [True, False])
def test_a_question_that_may_be_lost_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], is_in_a_template: bool
) -> None:
    definition = asking({"sampling": "{% $x %}", "execution_arn": "{% 1 %}", "task_token": "{% $t %}"})
    machine = {"Type": "AWS::Serverless::StateMachine", "Properties": {"Definition": definition}}
    template = {"Resources": {"Refund": machine}}
    name, content = ("template.yaml", template) if is_in_a_template else ("it.asl.json", definition)
    (tmp_path / name).write_text(json.dumps(content))

    code, (line,) = examined(tmp_path, capsys)

    of_the_machine = "template.yaml: Refund" if is_in_a_template else "it.asl.json"
    start = f"{of_the_machine}: States.Both.Branches[0].States.Ask: its question may be lost: the state has no Retry"
    assert (code, line.startswith(start)) == (Exit.FAILED, True)
    assert f'Fix: add "Retry": {json.dumps(RETRY, separators=(",", ":"))}.' in line


@pytest.mark.parametrize(
    ("field", "is_refused"),
    [({"type": "object"}, True), ({"type": "string"}, False), ({"type": "string", "maxLength": "{% $n %}"}, False)],
)
def test_a_question_that_no_client_would_be_shown_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], field: object, is_refused: bool
) -> None:
    asked = {"message": "Well?", "requestedSchema": {"type": "object", "properties": {"it": field}}}
    payload = {"elicitation": asked, "execution_arn": "{% $states.context.Execution.Id %}", "task_token": "{% $t %}"}
    (tmp_path / "it.asl.json").write_text(json.dumps(asking(payload, Retry=RETRY)))

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
    assert main(["doctor", str(tmp_path / "nowhere")]) == Exit.USAGE
    assert capsys.readouterr().err == (
        f"error: {tmp_path / 'nowhere'} does not exist: write the path of a file or a folder.\n"
    )
    assert main(["doctor", str(tmp_path)]) == Exit.USAGE
    assert "has no manifest" in capsys.readouterr().err


def test_findings_are_json_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "it.yaml").write_text(yaml.safe_dump({**GOOD, "description": "TODO"}))

    code = main(["doctor", "--json", str(tmp_path)])

    (finding,) = json.loads(capsys.readouterr().out)
    assert code == Exit.FAILED
    assert finding["where"].endswith("it.yaml: description")
    assert finding["fix"].startswith("say what the tool does")


PROJECT = """
Parameters: {Endpoint: {Type: String}}
Resources:
  Settle:
    Type: AWS::Serverless::StateMachine
    Properties: {DefinitionUri: settle.asl.json, Name: !Sub "${AWS::StackName}-settle"}
  SettleTool:
    Type: AWS::SSM::Parameter
    Properties:
      Name: !Sub /stepwire/${Endpoint}/tools/settle
      Value: !Sub |
        name: settle
        description: Settles all open invoices of a customer. Takes some minutes.
        state_machine: ${Settle}
        input_schema: {type: object, properties: {customer: {type: string, description: "The number."}}}
"""
NEEDS_CUSTOMER = {"StartAt": "A", "States": {"A": {"Type": "Wait", "SecondsPath": "$.seconds", "End": True}}}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "template.yaml").write_text(PROJECT)
    (tmp_path / "settle.asl.json").write_text(json.dumps(NEEDS_CUSTOMER))
    (tmp_path / "samconfig.yaml").write_text("version: 0.1\n")
    return tmp_path


@pytest.mark.parametrize("name", [".", "template.yaml"])
def test_a_template_is_no_manifest_and_its_manifests_are_held_against_its_state_machines(
    project: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert main(["doctor", str(project / name)]) == Exit.FAILED

    shown = capsys.readouterr()
    assert shown.out == (
        f"{project}/template.yaml: SettleTool: seconds: runs fail without it, and input_schema does not have it. "
        f"Fix: add it to input_schema.\n"
    )
    assert "2 files, 1 finding." in shown.err


@pytest.mark.parametrize(
    ("new", "said"), [("descriptoin:", "descriptoin: unknown field"), ("description: [", "line 3: ")]
)
def test_a_fault_of_a_manifest_in_a_template_is_found(
    project: Path, capsys: pytest.CaptureFixture[str], new: str, said: str
) -> None:
    (project / "template.yaml").write_text(PROJECT.replace("description:", new, 1))

    main(["doctor", str(project)])

    assert f"{project}/template.yaml: SettleTool.Value: {said}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("state_machine", "is_there"),
    [
        ("${Settle}:live", True),
        ("arn:aws:states:${AWS::Region}:${AWS::AccountId}:stateMachine:Elsewhere", False),
        ("${AWS::StackName}-elsewhere", False),
    ],
)
def test_an_alias_and_what_only_a_deployment_knows_name_a_state_machine(
    project: Path, capsys: pytest.CaptureFixture[str], state_machine: str, is_there: bool
) -> None:
    (project / "template.yaml").write_text(PROJECT.replace("${Settle}\n", f"{state_machine}\n"))

    main(["doctor", str(project)])

    found = capsys.readouterr().out.splitlines()
    assert ["seconds: runs fail without it" in line for line in found] == [True] * is_there


def test_a_manifest_in_a_file_may_have_the_name_that_a_state_machine_gets_by_default(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = PROJECT[: PROJECT.index("  SettleTool:\n")].replace("${AWS::StackName}", "${Stage}")
    (project / "template.yaml").write_text(machine.replace("Endpoint: {", "Stage: {Default: dev, "))

    _, found = examined(project, capsys, it={**GOOD, "state_machine": "dev-settle"})

    assert [line.partition(",")[0] for line in found] == ["it.yaml: seconds: runs fail without it"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "Takes some minutes.",
            "Takes {{some}} minutes.",
            "SettleTool: Systems Manager takes {{some}} for another parameter, and refuses the value. Fix: write",
        ),
        (
            "      Value: !Sub |",
            f"      Value: !Sub |\n        # {'x' * 5_000}",
            "bytes, and a parameter takes 4,096. Fix: write Tier: Intelligent-Tiering.",
        ),
        (
            "      Value: !Sub |",
            f"      Value: !Sub |\n        # {'x' * 9_000}",
            "bytes, and a parameter takes 4,096. Fix: shorten it.",
        ),
        ("name: settle\n", "name: other\n", "SettleTool: name: 'other' is not the last part of the parameter's name"),
        ("Takes some minutes.", "Takes {{resolve:ssm:/minutes}} minutes.", None),
        ("      Value: !Sub |", f"      Tier: Advanced\n      Value: !Sub |\n        # {'x' * 5_000}", None),
        ("      Value: !Sub |", f"      Tier: !Ref Endpoint\n      Value: !Sub |\n        # {'x' * 5_000}", None),
    ],
)
def test_a_parameter_that_would_be_refused_is_found_before_it_is_deployed(
    project: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, said: str | None
) -> None:
    (project / "template.yaml").write_text(PROJECT.replace(old, new))

    main(["doctor", str(project)])

    found = [line for line in capsys.readouterr().out.splitlines() if "seconds: runs fail" not in line]
    assert len(found) == (said is not None), found
    assert said is None or said in found[0]


@pytest.mark.parametrize(("condition", "is_found"), [("", True), ("    Condition: IsLive\n", False)])
def test_two_parameters_of_one_name_are_found(
    project: Path, capsys: pytest.CaptureFixture[str], condition: str, is_found: bool
) -> None:
    second = PROJECT[PROJECT.index("  SettleTool:\n") :].replace("SettleTool:\n", f"Second:\n{condition}")
    (project / "template.yaml").write_text(PROJECT + second)

    main(["doctor", str(project)])

    said = "Second: SettleTool has the same name, /stepwire/${Endpoint}/tools/settle, so the deployment fails."
    assert (said in capsys.readouterr().out) is is_found


@pytest.mark.parametrize(
    ("old", "new", "unknown"),
    [
        ("state_machine: ${Settle}", "state_machine: ${SettleInvoices}", "SettleInvoices"),
        ("Parameters: {Endpoint: {Type: String}}", "", "Endpoint"),
        ("The number.", "Of ${AWS::Region}, not ${!Customer}.", None),
        ("state_machine: ${Settle}", "state_machine: ${Settle}\n        role: ${SettleRole.Arn}", None),
    ],
)
def test_a_reference_to_what_the_template_does_not_have_is_found(
    project: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, unknown: str | None
) -> None:
    (project / "template.yaml").write_text(PROJECT.replace(old, new))

    main(["doctor", str(project)])

    found = [line for line in capsys.readouterr().out.splitlines() if "it refers to" in line]
    assert [line.partition("refers to ")[2].partition(",")[0] for line in found] == ([unknown] if unknown else [])


ASKING = """
Parameters: {Endpoint: {Type: String}}
Resources:
  Charge: {Type: AWS::Serverless::Function, Properties: {Handler: app.handler}}
  Buy:
    Type: AWS::Serverless::StateMachine
    Properties:
      DefinitionUri: buy.asl.json
      DefinitionSubstitutions: {Partition: !Ref AWS::Partition, InputRequestsFunctionArn: !Sub "FUNCTION"}
      Role: !GetAtt Role.Arn
  Role:
    Type: AWS::IAM::Role
    Properties:
      Policies:
        - PolicyDocument:
            Statement:
              - {Effect: Allow, Action: "lambda:Invoke*", Resource: [!GetAtt Charge.Arn, !Sub "FUNCTION"]}
              - {Effect: Allow, Action: "sns:*", Resource: "*"}
""".replace("FUNCTION", "{{resolve:ssm:/stepwire/${Endpoint}/input_requests}}")
ASKS: dict[str, Any] = {"StartAt": "Ask", "States": {"Ask": {
    "Type": "Task", "Resource": "arn:${Partition}:states:::lambda:invoke.waitForTaskToken", "End": True,
    "Parameters": {"FunctionName": "${InputRequestsFunctionArn}", "Payload": {
        "execution_arn.$": "$$.Execution.Id", "task_token.$": "$$.Task.Token",
        "elicitation": {"message": "Buy it?", "requestedSchema": {"type": "object", "properties": {}}}}},
    "Retry": RETRY,
}}}  # fmt: skip
OWN = ', !Sub "{{resolve:ssm:/stepwire/${Endpoint}/input_requests}}"]'
NO_RIGHT = "the role may not invoke {{resolve:ssm:/stepwire/${Endpoint}/input_requests}}, so the state fails"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("Partition: !Ref AWS::Partition, ", "", "${Partition} is not substituted. Fix: add Partition: !Ref AWS::Part"),
        ("InputRequestsFunctionArn: !Sub", "Other: !Sub",
         "${InputRequestsFunctionArn} is not substituted. Fix: add InputRequestsFunctionArn: !Sub"),
        (OWN, "]", NO_RIGHT),
        ("lambda:Invoke*", "lambda:Get*", NO_RIGHT),
        ("Effect: Allow, Action: \"lambda", "Effect: Deny, Action: \"lambda", NO_RIGHT),
        ("Role: !GetAtt Role.Arn", "Policies: [SNSFullAccess, LambdaInvokePolicy: {FunctionName: !Ref Charge}]",
         NO_RIGHT),
        ("Role: !GetAtt Role.Arn", "Policies: [AWSLambdaRole]", None),
        ("Role: !GetAtt Role.Arn", "Policies: [LambdaInvokePolicy: {FunctionName: stepwire-asks}]", None),
        ("Role: !GetAtt Role.Arn", "Role: !Sub arn:aws:iam::${AWS::AccountId}:role/of-another-stack", None),
        (OWN, ', !Sub "arn:aws:lambda:*:${AWS::AccountId}:function:stepwire-*"]', None),
        (ASKING[ASKING.index("      Policies:\n") :], "      ManagedPolicyArns: [!ImportValue asking]\n", None),
        ("no text of it", "", None),
    ],
)  # fmt: skip
def test_a_template_that_does_not_let_a_state_ask_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, said: str | None
) -> None:
    (tmp_path / "template.yaml").write_text(ASKING.replace(old, new))
    (tmp_path / "buy.asl.json").write_text(json.dumps(ASKS))

    main(["doctor", str(tmp_path)])

    found = capsys.readouterr().out.splitlines()
    assert len(found) == (said is not None), found
    assert said is None or f"Buy: States.Ask: its question is not asked: {said}" in found[0]


def test_a_manifest_that_can_be_served_and_not_registered_gets_advice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, (line,) = examined(tmp_path, capsys, it={**GOOD, "title": "Settle {{now}}"})

    assert code == Exit.DONE
    assert line.startswith("it.yaml: if it is registered as a parameter: Systems Manager takes {{now}} for another")


def test_a_manifest_as_windows_writes_it_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = yaml.safe_dump(GOOD).replace("\n", "\r\n")
    (tmp_path / "it.yaml").write_bytes(f"\ufeff{text}".encode())

    for path in (tmp_path, tmp_path / "it.yaml"):
        assert (main(["doctor", str(path)]), capsys.readouterr().out) == (Exit.DONE, "")


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "it.yaml").write_bytes(b"name: \xff")

    for path, said in ((tmp_path, "line 1: byte 0xff is not UTF-8"), (tmp_path / "it.yaml", "it is not UTF-8")):
        main(["doctor", str(path)])
        assert capsys.readouterr().out.startswith(f"{tmp_path / 'it.yaml'}: {said}")


IS_ROOT: Final = os.geteuid() == 0


@pytest.mark.skipif(IS_ROOT and which("setpriv") is None, reason="root may read every file")
def test_what_may_not_be_read_is_told_and_hides_nothing(tmp_path: Path) -> None:
    for name in ("settle.asl.yaml", "tools/it.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("name: it")
        (tmp_path / name).chmod(0)
    as_others = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if IS_ROOT else []
    command = [*as_others, sys.executable, "-m", "stepwire_wrap", "doctor", str(tmp_path)]

    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1])

    said = [f"{tmp_path}/{name}: it cannot be read: Permission denied" for name in ("settle.asl.yaml", "tools/it.yaml")]
    assert (ran.returncode, ran.stdout.splitlines()) == (Exit.FAILED, said)


def test_manifests_beside_a_template_are_checked_too(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "tools").mkdir()
    (project / "tools" / "it.yaml").write_text(yaml.safe_dump({**GOOD, "retries": 3}))

    main(["doctor", str(project)])

    assert f"{project}/tools/it.yaml: retries: unknown field" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (yaml.safe_dump({**GOOD, "retries": 3}), "retries: unknown field"),
        ("state_machine: Settle\nname: [", "line 2: expected the node content"),
        ("state_machine: Settle\nttl: !!int ''", "a value is not what its tag (!!...) says"),
        ("on: [push]", None),
        ("on: [", None),
    ],
)
def test_manifests_in_folders_below_are_looked_at_and_no_other_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, line: str | None
) -> None:
    (tmp_path / "settle.asl.json").write_text('{"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}')
    (tmp_path / "deep" / "tools").mkdir(parents=True)
    (tmp_path / "deep" / "tools" / "it.yaml").write_text(text)

    code = main(["doctor", str(tmp_path)])

    shown = capsys.readouterr()
    assert code == (Exit.DONE if line is None else Exit.FAILED)
    assert shown.out.startswith("" if line is None else f"{tmp_path}/deep/tools/it.yaml: {line}")
    assert shown.err.startswith("1 file, 0" if line is None else "2 files, 1")


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.asl.json", '{"StartAt": }', "it is no JSON: line 1, column 13: Expecting value"),
        ("a.asl.yaml", "StartAt: [", "it is no YAML: line 2: did not find expected node content"),
        ("a.asl.json", '{"StartAt": "B", "States": {"A": {"Type": "Succeed"}}}', "StartAt names no state: 'B'"),
        ("a.yaml", "name: [", "line 1: expected the node content, but found '<stream end>'"),
        ("a.yaml", 'ttl: !!int ""', "a value is not what its tag (!!...) says"),
        ("a.asl.yaml", 'StartAt: !!int ""', "it is no YAML: a value is not what its tag (!!...) says"),
    ],
)
@pytest.mark.parametrize("is_whole", [True, False], ids=["folder", "file"])
def test_what_cannot_be_read_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, line: str, is_whole: bool
) -> None:
    (tmp_path / name).write_text(text)

    code = main(["doctor", str(tmp_path if is_whole else tmp_path / name)])

    assert (code, capsys.readouterr().out) == (Exit.FAILED, f"{tmp_path / name}: {line}\n")
