"""What `make check` finds in the manifests that a template serves or registers."""

from pathlib import Path
from typing import Final

import pytest

from tests.template.document import ROOT
from tests.template.manifests import faults_of, main

FOLDER_MANIFEST: Final = "name: settle\ndescription: A.\nstate_machine: {machine}\ninput_schema: {{type: object}}\n"
FUNCTION: Final = """\
Resources:
  McpFunction:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: functions/mcp
      Environment: {Variables: {STATE_MACHINES: !Sub '{"Settle": "${Settle}"}'}}
"""
REGISTERED: Final = """\
Resources:
  Settle: {{Type: AWS::Serverless::StateMachine, Properties: {{DefinitionUri: a.yaml}}}}
  Other: {{Type: AWS::S3::Bucket}}
  SettleTool:
    Type: AWS::SSM::Parameter
    Properties:
      Name: !Sub /stepwire/${{Endpoint}}/tools/settle
      Value: !Sub |
        name: settle
        description: Settles.
        state_machine: {machine}
        input_schema: {{type: {kind}}}
"""


def template(folder: Path, text: str) -> Path:
    path = folder / "template.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def served(folder: Path, machine: str) -> list[str]:
    tools = folder / "functions/mcp/tools"
    tools.mkdir(parents=True)
    (tools / "settle.yaml").write_text(FOLDER_MANIFEST.format(machine=machine), encoding="utf-8")
    return faults_of(template(folder, FUNCTION))


def registered(folder: Path, machine: str, kind: str = "object") -> list[str]:
    return faults_of(template(folder, REGISTERED.format(machine=machine, kind=kind)))


@pytest.mark.parametrize("machine", ["Settle", "arn:aws:states:eu-central-1:123456789012:stateMachine:Elsewhere:live"])
def test_a_machine_that_is_known_or_an_arn_is_good(tmp_path: Path, machine: str) -> None:
    assert served(tmp_path, machine) == []


@pytest.mark.parametrize(
    "machine",
    ["Setle", "arn:aws:lambda:eu-central-1:123456789012:function:f", "arn:aws:states:eu-central-1:1:stateMachine:x"],
)
def test_a_machine_that_nobody_knows_is_named_before_the_first_call(tmp_path: Path, machine: str) -> None:
    (fault,) = served(tmp_path, machine)

    assert fault.endswith(f"state_machine: {machine!r} is neither an ARN nor a name in STATE_MACHINES (known: Settle)")
    assert fault.startswith(str(tmp_path / "functions/mcp/tools/settle.yaml"))


@pytest.mark.parametrize("machine", ["${Settle}", "${Settle.Name}", "${Settle}:live", "Elsewhere"])
def test_a_parameter_s_manifest_is_checked_with_the_resources_of_its_template(tmp_path: Path, machine: str) -> None:
    assert registered(tmp_path, machine) == []


@pytest.mark.parametrize(
    ("machine", "kind", "fault"),
    [
        ("${Settle}", "int", "SettleTool: input_schema: at type: must be 'object'"),
        ("arn:aws:sqs:eu-central-1:123456789012:queue", "object", "is no state machine's name or ARN"),
    ],
)
def test_a_parameter_s_manifest_that_would_be_refused_is_found_in_its_template(
    tmp_path: Path, machine: str, kind: str, fault: str
) -> None:
    (found,) = registered(tmp_path, machine, kind)

    assert fault in found


def test_the_command_prints_faults_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = template(tmp_path, REGISTERED.format(machine="x", kind="int"))

    assert main([str(path), str(ROOT / "stack.yaml")]) == 1
    assert "SettleTool: input_schema" in capsys.readouterr().err
    assert main([str(ROOT / "stack.yaml")]) == 0


def test_make_check_runs_it_on_every_template() -> None:
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\ntemplates:")[2].partition("\n\n")[0]

    assert "-m tests.template.manifests $(TEMPLATES)" in recipe
