"""`stepwire wrap --write`: what it prints goes into the owner's own files, and every other byte stays."""

import difflib
import json
from pathlib import Path
from typing import Any, Final

import pytest

from packages.wrap.tests.samples import machine, passed, task
from packages.wrap.tests.shown import Shown
from stepwire.json_text import as_object
from stepwire_wrap.deciding import NOBODY_SAYS, Deciding
from stepwire_wrap.drafting import Place
from stepwire_wrap.examining import findings_of
from stepwire_wrap.exits import Exit
from stepwire_wrap.files.texts import value_of
from stepwire_wrap.findings import Severity
from stepwire_wrap.wrapping import wrap

CALLER: Final = Deciding.of("caller", [], None)
AS_NOW: Final = Deciding.of("as-now", [], None)
ASK: Final = task("Go", "sns:publish.waitForTaskToken", ResultPath="$.approval",
                  Parameters={"TopicArn": "managers", "Message.$": "States.Format('Order {}', $.order)"})  # fmt: skip
SAYS: Final = "Buys an article once a manager has approved it. Use it for orders above 500 EUR; it takes a day."
DEFINITION: Final = machine(
    Ask=ASK,
    Go={"Type": "Choice", "Default": "Refused", "Choices": [
        {"Variable": "$.approval.approved", "BooleanEquals": True, "Next": "Bought"}]},
    Bought=passed(Result={"bought": True}),
    Refused=passed(Result={"bought": False}),
) | {"Comment": SAYS}  # fmt: skip
IN_YAML: Final = f"""\
# How we buy.
Comment: {SAYS}
StartAt: Ask
States:
  # A manager looks at it.
  Ask:
    Type: Task
    Resource: arn:aws:states:::sns:publish.waitForTaskToken  # by mail
    Parameters: {{TopicArn: managers, Message.$: "States.Format('Order {{}}', $.order)"}}
    ResultPath: $.approval
    Next: Go

  Go:  # the branch
    Type: Choice
    Choices: [{{Variable: $.approval.approved, BooleanEquals: true, Next: Bought}}]
    Default: Refused
  Bought: {{Type: Pass, Result: {{bought: true}}, End: true}}
  Refused: {{Type: Pass, Result: {{bought: false}}, End: true}}  # the last
"""
SAM: Final = "Transform: AWS::Serverless-2016-10-31\n"
FUNCTION: Final = '!Sub "{{resolve:ssm:/stepwire/${Endpoint}/input_requests}}"'
STYLES: Final = {
    "a file in YAML": (f"""\
{SAM}# What we deploy.
Resources:
  Orders:  # ours
    Type: AWS::Serverless::StateMachine
    Properties:
      DefinitionUri: flow.asl.yaml   # beside it
      Name: !Sub "${{AWS::StackName}}-orders"

  # Nothing to do with it.
  Topic: {{Type: AWS::SNS::Topic}}
""", "flow.asl.yaml", IN_YAML),
    "a file in JSON": (f"""\
{SAM}Resources:
  Orders:
    Type: AWS::Serverless::StateMachine
    Properties: {{DefinitionUri: flow.asl.json}}
""", "flow.asl.json", json.dumps(DEFINITION, indent=4)),
    "all is there in part": (f"""\
{SAM}Parameters:
  Stage: {{Type: String, Default: dev}}  # ours
  Endpoint:
    Type: String
    Default: live
Resources:
  Topic: {{Type: AWS::SNS::Topic}}
  Orders:
    Properties:
      Tags: {{team: billing}}
      Policies:
      - SNSPublishMessagePolicy: {{TopicName: !GetAtt Topic.TopicName}}
      # The rest.
      DefinitionSubstitutions:
        TopicArn: !Ref Topic  # by mail
        Partition: !Ref AWS::Partition
      DefinitionUri: flow.asl.yaml
    Type: AWS::Serverless::StateMachine
""", "flow.asl.yaml", IN_YAML),
    "in the template": (f"""\
{SAM}Resources:
  Orders:
    Type: AWS::Serverless::StateMachine
    Properties:
      Definition:
{"".join(f"        {line}".rstrip() + chr(10) for line in IN_YAML.splitlines())}      Type: STANDARD
""", "", ""),
    "as a text in the template": (f"""\
Resources:
  Role:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument:
        Version: "2012-10-17"
        Statement: {{Effect: Allow, Principal: {{Service: states.amazonaws.com}}, Action: sts:AssumeRole}}
      Policies:
        - PolicyName: Own
          PolicyDocument: {{Version: "2012-10-17", Statement: {{Effect: Allow, Action: "sns:Publish", Resource: "*"}}}}
  Orders:
    Type: AWS::StepFunctions::StateMachine
    Properties:
      RoleArn: !GetAtt Role.Arn
      Tags:
        - {{Key: team, Value: billing}}
      DefinitionString: !Sub |
{"".join(f"        {line}{chr(10)}" for line in json.dumps(DEFINITION, indent=2).splitlines())}
""", "", ""),
    "a template in JSON": (json.dumps({"Transform": SAM.split()[1], "Resources": {"Orders": {
        "Type": "AWS::Serverless::StateMachine", "Properties": {"Definition": DEFINITION}}}}, indent=2), "", ""),
    "with the line ends of Windows": (f"""\
{SAM}Resources:\r
  Orders:\r
    Type: AWS::Serverless::StateMachine\r
    Properties:\r
      DefinitionUri: flow.asl.yaml\r
""".replace("\r", "").replace("\n", "\r\n"), "flow.asl.yaml", IN_YAML.replace("\n", "\r\n")),
}  # fmt: skip


def estate(folder: Path, template: str, name: str = "", definition: str = "") -> Path:
    path = folder / ("template.json" if template.startswith("{") else "template.yaml")
    path.write_bytes(template.encode())
    if name:
        (folder / name).write_bytes(definition.encode())
    return path


def put(folder: Path, deciding: Deciding = CALLER, *, agrees: bool = True, **more: Any) -> tuple[int, Shown, list[str]]:
    """Put all into the files of a folder; return the exit code, the screen and what was asked."""
    screen, asked = Shown(**more), list[str]()

    def agree(question: str) -> bool:
        asked.append(question)
        return agrees

    place = Place(folder / "tools", "live", rewrites=True)
    return wrap([folder], place, screen, deciding, agree), screen, asked


def contents(folder: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in folder.iterdir()}


def lost_of(before: bytes, after: bytes) -> list[str]:
    """Return the lines that are no longer there, without those of the state that was replaced."""
    old, new = before.decode().splitlines(), after.decode().splitlines()
    lost = [line[2:] for line in difflib.ndiff(old, new) if line.startswith("- ")]
    ask = [line.strip() for line in [*IN_YAML.splitlines()[6:11], *json.dumps({"Ask": ASK}, indent=2).splitlines()]]
    return [line for line in lost if line.strip() not in ask]


@pytest.mark.parametrize("deciding", [CALLER, AS_NOW], ids=["caller", "as it is"])
@pytest.mark.parametrize("style", STYLES)
def test_all_six_edits_are_one_question_and_a_second_run_changes_nothing(
    tmp_path: Path, style: str, deciding: Deciding
) -> None:
    written = rewritten_twice(tmp_path, style, deciding)

    assert b"approvers" not in written


def rewritten_twice(tmp_path: Path, style: str, deciding: Deciding) -> bytes:
    """Rewrite the files of a style, check what became of them, do it again; return what is written."""
    template = estate(tmp_path, *STYLES[style])
    before = contents(tmp_path)

    code, screen, asked = put(tmp_path, deciding)

    after = contents(tmp_path)
    assert (code, screen.errors, len(asked)) == (Exit.DONE, [], 1)
    assert any("+++ " in one for one in screen.results), "the difference is shown"
    value = as_object(value_of(template))
    resource, tool = (value["Resources"][name] for name in ("Orders", "OrdersTool"))
    assert "stepwire:endpoint" in json.dumps(resource["Properties"]["Tags"])
    assert "Endpoint" in value["Parameters"]
    assert "state_machine" in json.dumps(tool["Properties"]["Value"])
    asks = deciding is not AS_NOW
    assert ("InputRequestsFunctionArn" in json.dumps(resource), "lambda:InvokeFunction" in json.dumps(value)) == (
        asks,
        asks,
    )
    written = b"".join(after.values())
    assert (b"elicitation" in written) is asks
    found = [one for one in findings_of(tmp_path) if one.severity is not Severity.ADVICE]
    assert [one.what for one in found if "properties.order" not in one.what + one.where] == []
    if style not in ("a file in JSON", "a template in JSON"):  # whose last member gets a comma
        assert [line for name, one in before.items() for line in lost_of(one, after[name])] == (
            ["      Tags: {team: billing}"] if "in part" in style else []
        )
    assert (b"\r\n" in after[template.name]) is (b"\r\n" in before[template.name])
    assert after[template.name].count(b"\n") == after[template.name].count(b"\r\n") or b"\r" not in after[template.name]

    code, screen, asked = put(tmp_path, deciding)

    assert (code, screen.errors, asked, contents(tmp_path)) == (Exit.DONE, [], [], after)
    assert "Nothing to change." in screen.said
    return written


def test_nothing_is_written_before_a_yes(tmp_path: Path) -> None:
    estate(tmp_path, *STYLES["a file in YAML"])
    before = contents(tmp_path)

    code, screen, asked = put(tmp_path, agrees=False)

    names = f"{tmp_path}/template.yaml and {tmp_path}/flow.asl.yaml"
    assert asked == [f"Write this to {names}?"]
    assert (code, contents(tmp_path)) == (Exit.FAILED, before)
    assert screen.errors == [f"nothing was written to {names}; --yes writes it"]


def test_what_nobody_has_decided_is_not_written(tmp_path: Path) -> None:
    estate(tmp_path, *STYLES["a file in YAML"])

    code, screen, _ = put(tmp_path, NOBODY_SAYS)

    assert code == Exit.DONE
    assert contents(tmp_path)["flow.asl.yaml"] == IN_YAML.encode()
    assert b"OrdersTool" in contents(tmp_path)["template.yaml"]
    assert any(one.startswith("Left to choose: who decides where a state waits") for one in screen.said)

    code, _, _ = put(tmp_path, CALLER)

    assert code == Exit.DONE
    assert b"elicitation" in contents(tmp_path)["flow.asl.yaml"]


def test_the_reviewed_manifest_of_the_folder_is_what_is_written(tmp_path: Path) -> None:
    estate(tmp_path, *STYLES["a file in YAML"])
    wrap([tmp_path / "template.yaml"], Place(tmp_path / "tools", "live"), Shown(), AS_NOW)
    (file,) = (tmp_path / "tools").iterdir()
    file.write_text(file.read_text().replace("name: orders", "name: orders\ntitle: Buys things"))

    wrap(
        [tmp_path / "template.yaml"], Place(tmp_path / "tools", "live", rewrites=True), Shown(), AS_NOW, lambda _: True
    )

    assert "title: Buys things" in (tmp_path / "template.yaml").read_text()


def sam(properties: str, more: str = "") -> str:
    return f"{SAM}Resources:\n  Orders:\n    Type: AWS::Serverless::StateMachine\n    Properties:\n{properties}{more}"


URI: Final = "      DefinitionUri: flow.asl.yaml\n"


@pytest.mark.parametrize(
    ("template", "definition", "line"),
    [
        (sam(URI + "      Role: arn:aws:iam::123456789012:role/x\n"), IN_YAML, "its questions: its role is not in"),
        (sam(URI + "      Policies: AWSLambdaRole\n"), IN_YAML, "Policies: it is no list"),
        (sam(URI + "      DefinitionSubstitutions: {Partition: aws}\n"), IN_YAML, "has another Partition"),
        (sam(URI), IN_YAML.replace("    Next: Go\n", "    Next: Go\n    Assign: {x: 1}\n", 1), "state Ask: Assign"),
        (sam(URI), f"{IN_YAML}  More:\n    Type: Map\n    End: true\n    ItemProcessor: {json.dumps(DEFINITION)}\n",
         "state Ask: it is not found in its definition"),
        (sam(f"      DefinitionString: '{json.dumps(DEFINITION).replace(chr(39), chr(39) * 2)}'\n"), "",
         "state Ask: DefinitionString is no literal block"),
        (sam(URI, "  OrdersTool: {Type: AWS::SNS::Topic}\n"), IN_YAML, "has another resource OrdersTool"),
    ],
)  # fmt: skip
def test_a_part_that_is_not_understood_is_left_named_and_printed(
    tmp_path: Path, template: str, definition: str, line: str
) -> None:
    estate(tmp_path, template, "flow.asl.yaml" if definition else "", definition)

    code, screen, _ = put(tmp_path)

    assert code == Exit.FAILED
    assert any(line in one and one.endswith("Do this by hand") for one in screen.errors), screen.errors
    assert "elicitation" not in "".join(one.decode() for one in contents(tmp_path).values())
    assert "stepwire:endpoint" in (tmp_path / "template.yaml").read_text(), "the rest is written"
    assert "InputRequestsFunctionArn" not in (tmp_path / "template.yaml").read_text(), (
        "a state asks, or nothing is added"
    )
    assert any("AWS::SSM::Parameter" in one and "elicitation" in one for one in screen.results), "printed as before"


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("flow.asl.yaml", IN_YAML, "is in no template: name the template that deploys it, or its folder"),
        ("serverless.yml", "service: x\nprovider: {name: aws}\nfunctions: {}\nstepFunctions: {stateMachines: {orders: "
         f"{{definition: {json.dumps(DEFINITION)}}}}}}}\n", "a file of the Serverless Framework, which is not changed"),
    ],
)  # fmt: skip
def test_a_file_that_is_never_changed_is_named(tmp_path: Path, name: str, text: str, line: str) -> None:
    (tmp_path / name).write_text(text)

    code, screen, asked = put(tmp_path)

    assert (code, asked) == (Exit.FAILED, [])
    assert any(line in one for one in screen.errors), screen.errors
    assert (tmp_path / name).read_text() == text


def test_programs_get_the_difference_as_data(tmp_path: Path) -> None:
    template = estate(tmp_path, *STYLES["a file in YAML"])

    _, screen, _ = put(tmp_path, as_json=True)

    ((first, second),) = screen.results
    assert first["file"] == str(template)
    assert '+        "stepwire:endpoint": !Ref Endpoint\n' in first["difference"]
    assert second["file"].endswith("flow.asl.yaml")
