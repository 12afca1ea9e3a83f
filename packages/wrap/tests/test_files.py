"""`stepwire wrap` of definitions, templates and folders, without an account."""

import json
from pathlib import Path
from typing import Final

import pytest
import yaml

from packages.wrap.tests.samples import machine, passed, task
from packages.wrap.tests.shown import Shown
from stepwire.manifests.reading import compile_directory
from stepwire_wrap.__main__ import main
from stepwire_wrap.definitions.snippets import Tool
from stepwire_wrap.drafting import Place
from stepwire_wrap.exits import Exit, WrapError
from stepwire_wrap.wrapping import wrap

SHIPS = {**machine(Ship=passed(Parameters={"x.$": "$.order"})), "Comment": "Ships an order that was paid."}

TEMPLATE = """
Transform: AWS::Serverless-2016-10-31
Parameters: {Kind: {Type: String, Default: EXPRESS}, Unset: {Type: String}}
Resources:
  Role:
    Type: AWS::IAM::Role
    Properties: {AssumeRolePolicyDocument: {Version: 2012-10-17}}
  ShipOrders:
    Type: AWS::Serverless::StateMachine
    Properties: {DefinitionUri: flows/ship.asl.json, Type: !Ref Kind}
  Bills:
    Type: AWS::StepFunctions::StateMachine
    Properties:
      StateMachineName: BillOrders
      DefinitionString: !Sub |
        {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "${Bill.Arn}", "End": true}}}
  StateMachineArn:
    Type: AWS::Serverless::StateMachine
    Properties:
      Definition: {StartAt: A, States: {A: {Type: Wait, SecondsPath: $.seconds, End: true}}}
"""


BOMB = "\n".join(["a0: &a0 [x]", *(f"a{one}: &a{one} [{', '.join([f'*a{one - 1}'] * 9)}]" for one in range(1, 9))])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "orders"
    (folder / "flows").mkdir(parents=True)
    (folder / "template.yaml").write_text(TEMPLATE)
    (folder / "flows" / "ship.asl.json").write_text(json.dumps(SHIPS))
    (folder / "flows" / "loose.yaml").write_text(yaml.safe_dump(SHIPS))
    (folder / "flows" / "package.json").write_text('{"name": "x"}')
    return folder


def wrapped(folder: Path, *paths: Path, snippet: Tool | None = None) -> tuple[Shown, dict[str, str]]:
    screen = Shown()
    wrap(paths, Place(folder / "tools", "live", snippet), screen)
    files = {one.stem: one.read_text() for one in (folder / "tools").glob("*.yaml")}
    if files:
        assert compile_directory(folder / "tools")
    return screen, files


def test_a_folder_gives_the_machines_of_its_templates_then_loose_definitions(tmp_path: Path, project: Path) -> None:
    screen, files = wrapped(tmp_path, project)

    assert [row[:2] for row in screen.results] == [
        ("ship_orders", "ShipOrders"),
        ("bill_orders", "BillOrders"),
        ("orders", "StateMachineArn"),
        ("loose", "loose"),
    ]
    assert "Ships an order that was paid." in files["ship_orders"]
    assert "task_support: forbidden" in files["ship_orders"]
    assert "state_machine: ShipOrders  # the logical id in its template: write its name" in files["ship_orders"]
    assert "state_machine: BillOrders\n" in files["bill_orders"]
    assert "order: {}  # read by Ship" in files["loose"]


@pytest.mark.parametrize("tool", [Tool.SAM, Tool.TERRAFORM])
def test_a_snippet_refers_to_the_machine_and_does_not_ask_for_its_name(
    tmp_path: Path, project: Path, tool: Tool, capsys: pytest.CaptureFixture[str]
) -> None:
    screen, _ = wrapped(tmp_path, project, snippet=tool)

    said = "\n".join(map(str, screen.results)) + capsys.readouterr().out
    assert "ship_orders" in said
    assert "write its name" not in said


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ship.asl.json", json.dumps(SHIPS)),
        ("ship.asl.yaml", yaml.safe_dump(SHIPS)),
        ("anything.txt", yaml.safe_dump(SHIPS)),
        ("ship.json", json.dumps(SHIPS).replace('"End"', '"TimeoutSeconds": ${Total}, "End"')),
    ],
)
def test_a_definition_is_what_its_contents_say(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)

    screen, files = wrapped(tmp_path, tmp_path / name)

    assert screen.results == [(Path(name).stem.partition(".")[0], Path(name).stem.partition(".")[0], "1", "1", "0")]
    assert len(files) == 1


def test_functions_of_cloudformation_become_texts_that_name_what_is_meant(tmp_path: Path) -> None:
    (tmp_path / "template.json").write_text(json.dumps({"Resources": {"M": {
        "Type": "AWS::StepFunctions::StateMachine",
        "Properties": {
            "DefinitionString": {"Fn::Join": ["", [
                '{"StartAt":"A","States":{"A":{"Type":"Wait","SecondsPath":"$.', {"Ref": "Field"},
                '","End":true}}}']]},
        },
    }}, "Parameters": {"Field": {"Type": "String", "Default": "seconds"}}}))  # fmt: skip

    _, files = wrapped(tmp_path, tmp_path / "template.json")

    assert "seconds: {type: number}  # read by A" in files["m"]


def test_the_lines_for_a_stack_refer_to_the_resource_of_the_template(tmp_path: Path, project: Path) -> None:
    screen, _ = wrapped(tmp_path, project / "template.yaml", snippet=Tool.SAM)

    assert "state_machine: ${ShipOrders}" in screen.results[0]


STAGED: Final = """
Parameters: {Endpoint: {Type: String}, Stage: {Type: String, Default: dev}}
Resources:
  Shipping:
    Type: AWS::Serverless::StateMachine
    Properties: {Name: !Sub "shop-${Stage}-ship-orders", Definition: DEFINITION}
  StateMachine:
    Type: AWS::Serverless::StateMachine
    Properties: {Name: !Sub "shop-${Stage}-bill-orders", Definition: DEFINITION}
"""


def test_what_depends_on_a_parameter_of_the_template_is_written_for_each_of_its_values(tmp_path: Path) -> None:
    template = tmp_path / "template.yaml"
    template.write_text(STAGED.replace("DEFINITION", json.dumps(SHIPS)))

    screen, files = wrapped(tmp_path, template, snippet=Tool.SAM)

    assert set(files) == {"shipping", "shop_bill_orders"}
    assert not [text for text in (*files.values(), *screen.results) if "-dev-" in text]
    assert "state_machine: Shipping  # the logical id in its template: write its name" in files["shipping"]
    for text in screen.results:
        assert "!Ref Endpoint" in text
        assert "Default: stepwire" not in text
    assert "\nShippingTool:\n" in screen.results[0]
    assert "Name: !Sub /stepwire/${Endpoint}/tools/shipping\n" in screen.results[0]
    assert "state_machine: ${StateMachine}" in screen.results[1]


def test_the_lines_for_a_stack_give_a_state_that_asks_what_it_needs(tmp_path: Path) -> None:
    asks = machine(Confirm=task("A", "sns:publish.waitForTaskToken", Parameters={"TopicArn": "customers"}), A=passed())
    (tmp_path / "asks.json").write_text(json.dumps(asks))
    (tmp_path / "ships.json").write_text(json.dumps(SHIPS))

    screen, files = wrapped(tmp_path, tmp_path / "asks.json", tmp_path / "ships.json", snippet=Tool.SAM)

    wanted = ("Partition: !Ref AWS::Partition", "InputRequestsFunctionArn: !Sub", "Action: lambda:InvokeFunction")
    assert [[one in text for one in wanted] for text in screen.results] == [[True] * 3, [False] * 3]
    assert "its role needs lambda:InvokeFunction" in files["asks"]


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.asl.json", '{"StartAt": }', "a.asl.json: it is no JSON: line 1, column 13: Expecting value"),
        ("a.asl.yaml", "a: [", "a.asl.yaml: it is no YAML: line 2: did not find expected node content"),
        ("a.json", '{"a": 1}', "a.json: it is neither a definition (StartAt, States) nor a template (Resources)"),
        ("a.yaml", "Resources: {A: {Type: AWS::Serverless::StateMachine, Properties: {DefinitionUri: gone.json}}}",
         "a.yaml: A: its definition gone.json does not exist"),
        ("a.yaml", BOMB, "it is no YAML: its aliases (*name) stand for more than 1,000,000 values: write fewer"),
        ("a.yaml", "a: " + "[" * 500_000 + "]" * 500_000, "it is no YAML: nested more than 500 levels deep"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_one_line_and_spoils_no_other(tmp_path: Path, name: str, text: str, line: str) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / "good.json").write_text(json.dumps(SHIPS))

    screen, files = wrapped(tmp_path, tmp_path / name, tmp_path / "good.json")

    assert screen.said[0].endswith(line)
    assert list(files) == ["good"]


def test_a_start_that_is_no_state_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({**SHIPS, "StartAt": "Gone"}))

    screen, _ = wrapped(tmp_path, tmp_path / "a.json")

    assert screen.said[0].endswith("StartAt names no state: 'Gone'")


def test_no_account_is_asked_for(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.chdir(tmp_path)

    assert main([str(project), "--output", "made"]) == 0

    assert "4 manifests written to made/." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (
            ["gone.asl.json"],
            Exit.USAGE,
            "gone.asl.json does not exist: write the path of a definition, a template or a folder.",
        ),
        (
            ["."],
            Exit.UNKNOWN,
            ". has no state machine: neither a definition (StartAt, States) nor a template with one.",
        ),
    ],
)
def test_a_path_that_cannot_be_wrapped_is_told_in_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    code: int,
    line: str,
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(words) == code

    assert capsys.readouterr().err == f"error: {line}\n"


def test_a_folder_that_cannot_be_written_is_told_in_one_line(
    tmp_path: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()

    assert main([str(project), "--output", str(tmp_path / "file" / "made")]) == Exit.USAGE

    words = "cannot be written: not a directory: name another folder with --output."
    assert capsys.readouterr().err.endswith(f"error: {tmp_path / 'file' / 'made'} {words}\n")


def test_a_folder_without_state_machines_is_no_crash(tmp_path: Path) -> None:
    with pytest.raises(WrapError, match="has no state machine"):
        wrapped(tmp_path, tmp_path)


def test_nested_templates_are_read_once(tmp_path: Path) -> None:
    definition = {"StartAt": "A", "States": {"A": {**task(), "Resource": "${F}"}}}
    inner = {
        "Resources": {"Inner": {"Type": "AWS::Serverless::StateMachine", "Properties": {"Definition": definition}}}
    }
    outer = {"Resources": {"Stack": {"Type": "AWS::Serverless::Application", "Properties": {"Location": "inner.json"}}}}
    (tmp_path / "inner.json").write_text(json.dumps(inner))
    (tmp_path / "outer.json").write_text(json.dumps(outer))

    screen, _ = wrapped(tmp_path, tmp_path)

    assert [row[0] for row in screen.results] == ["inner"]


def test_an_activity_of_the_template_is_not_the_only_function_beside_it(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("def handler(event, context): return event['order']")
    state = {"Type": "Task", "Resource": "${Work}", "End": True}
    machine = {
        "Type": "AWS::Serverless::StateMachine",
        "Properties": {
            "Definition": {"StartAt": "A", "States": {"A": state}},
            "DefinitionSubstitutions": {"Work": {"Ref": "Desk"}},
        },
    }
    resources = {"Desk": {"Type": "AWS::StepFunctions::Activity"}, "Orders": machine}
    (tmp_path / "template.json").write_text(json.dumps({"Resources": resources}))

    _, files = wrapped(tmp_path, tmp_path / "template.json")

    assert "# read by" not in files["orders"]
