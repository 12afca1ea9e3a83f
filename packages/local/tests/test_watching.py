"""What a running stack takes over of its files, and what it says where it cannot."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from packages.local.tests.conftest import TEMPLATE
from stepwire_local import LocalStack
from stepwire_local.watching import Watching
from tests.waiting import until

Json = dict[str, Any]


class Beside:
    """A stack beside the first, whose files are changed while both serve."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.template = folder / "template.yaml"
        self.lines: list[tuple[str, bool]] = []
        (folder / "function").mkdir()
        self.write_function("one")
        self.write_workflow("one")
        self.include("one")
        self.write_template(Colour="red")

    def write_function(self, answer: str) -> None:
        text = f"def handler(event, context):\n    return {answer!r}\n"
        (self.folder / "function" / "app.py").write_text(text, encoding="utf-8")

    def write_workflow(self, answer: str) -> None:
        states = {"Answer": {"Type": "Pass", "Result": {"answer": answer}, "End": True}}
        text = json.dumps({"StartAt": "Answer", "States": states})
        (self.folder / "workflow.asl.json").write_text(text, encoding="utf-8")

    def include(self, value: str) -> None:
        properties = {"Name": "/beside/Included", "Type": "String", "Value": value}
        text = yaml.safe_dump({"Included": {"Type": "AWS::SSM::Parameter", "Properties": properties}})
        (self.folder / "included.yaml").write_text(text, encoding="utf-8")

    def write_template(self, *, tags: Json | None = None, **values: str) -> None:
        parameters = {
            name: {
                "Type": "AWS::SSM::Parameter",
                "Properties": {"Name": f"/beside/{name}", "Type": "String", "Value": value},
            }
            for name, value in values.items()
        }
        function = {"CodeUri": "function", "Handler": "app.handler", "Runtime": "python3.13"}
        machine = {"DefinitionUri": "workflow.asl.json", "Tags": tags or {"owner": "us"}}
        resources: Json = {
            "Answerer": {"Type": "AWS::Serverless::Function", "Properties": function},
            "Machine": {"Type": "AWS::Serverless::StateMachine", "Properties": machine},
            **parameters,
            "Fn::Transform": {"Name": "AWS::Include", "Parameters": {"Location": "included.yaml"}},
        }
        body = {"Transform": "AWS::Serverless-2016-10-31", "Resources": resources}
        self.template.write_text(yaml.safe_dump(body), encoding="utf-8")

    def serve(self) -> Iterator["Beside"]:
        with LocalStack(TEMPLATE, others=[self.template]) as self.stack:
            self.watching = Watching(self.stack, lambda words, is_fault: self.lines.append((words, is_fault)))
            yield self

    def value(self, name: str) -> str | None:
        client = self.stack.client("ssm")
        try:
            return client.get_parameter(Name=f"/beside/{name}")["Parameter"]["Value"]
        except client.exceptions.ParameterNotFound:
            return None

    def run(self) -> Any:
        states = self.stack.client("stepfunctions")
        started = states.start_execution(stateMachineArn=self.stack.physical_ids["Machine"], input="{}")
        ended = lambda: states.describe_execution(executionArn=started["executionArn"])  # noqa: E731
        until(lambda: ended()["status"] == "SUCCEEDED")
        return json.loads(ended()["output"])


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Beside]:
    yield from Beside(tmp_path).serve()


def test_nothing_is_said_where_nothing_has_changed(beside: Beside) -> None:
    beside.watching.look()

    assert beside.lines == []


def test_a_parameter_is_made_changed_and_removed(beside: Beside) -> None:
    beside.write_template(Colour="blue", Size="large")
    beside.watching.look()
    changed = (beside.value("Colour"), beside.value("Size"))
    beside.write_template(Size="large")
    beside.watching.look()

    assert changed == ("blue", "large")
    assert (beside.value("Colour"), beside.value("Size")) == (None, "large")
    assert beside.lines == [
        (f"{beside.template}: deployed: Colour, Size", False),
        (f"{beside.template}: deployed: Colour", False),
    ]


def test_a_change_of_an_included_file_is_taken_over(beside: Beside) -> None:
    before = beside.value("Included")

    beside.include("two and more")
    beside.watching.look()

    assert (before, beside.value("Included")) == ("one", "two and more")
    assert beside.lines == [(f"{beside.template}: deployed: Included", False)]


def test_a_definition_is_taken_over_and_what_runs_is_not_touched(beside: Beside) -> None:
    machine = beside.stack.physical_ids["Machine"]
    before = beside.run()

    beside.write_workflow("two and more")
    beside.watching.look()

    assert (before, beside.run()) == ({"answer": "one"}, {"answer": "two and more"})
    assert beside.stack.physical_ids["Machine"] == machine
    assert len(beside.stack.client("stepfunctions").list_executions(stateMachineArn=machine)["executions"]) == 2


def test_a_tag_is_set_and_taken_away(beside: Beside) -> None:
    beside.write_template(tags={"stepwire:endpoint": "x"})
    beside.watching.look()

    tags = beside.stack.client("stepfunctions").list_tags_for_resource(
        resourceArn=beside.stack.physical_ids["Machine"]
    )["tags"]
    found = {tag["key"]: tag["value"] for tag in tags}
    assert (found.get("stepwire:endpoint"), found.get("owner")) == ("x", None)


def test_a_function_is_loaded_anew(beside: Beside) -> None:
    beside.write_function("two and more")
    beside.watching.look()

    assert beside.stack.invoke("Answerer", {}) == "two and more"


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("template.yaml", "Resources: [", "is not YAML"),
        ("template.yaml", "Resources: {A: {Type: AWS::SSM::Parameter}}", "needs the property 'Type'"),
        ("workflow.asl.json", '{"StartAt": "Nowhere", "States": {}}', "Nowhere"),
        ("function/app.py", "def handler(", "cannot import"),
    ],
)
def test_what_is_broken_is_told_in_one_line_and_the_last_good_one_serves(
    beside: Beside, file: str, text: str, words: str
) -> None:
    (beside.folder / file).write_text(text, encoding="utf-8")
    beside.watching.look()
    beside.watching.look()

    ((line, is_fault),) = beside.lines
    assert is_fault
    assert line.startswith(f"{beside.template}: not taken over, the last good one serves: ")
    assert words in line
    assert "\n" not in line
    assert beside.value("Colour") == "red"
    assert beside.stack.invoke("Answerer", {}) == "one"
    assert beside.run() == {"answer": "one"}


def test_a_change_that_fails_half_way_is_taken_back_and_the_repaired_one_is_taken_over(beside: Beside) -> None:
    beside.write_workflow("two and more")
    body = yaml.safe_load(beside.template.read_text(encoding="utf-8"))
    broken: Json = {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String"}}
    body["Resources"] = {**body["Resources"], "Zebra": broken}
    beside.template.write_text(yaml.safe_dump(body), encoding="utf-8")
    beside.watching.look()
    before = beside.run()

    broken["Properties"] = {"Type": "String", "Value": "striped", "Name": "/beside/Zebra"}
    beside.template.write_text(yaml.safe_dump(body), encoding="utf-8")
    beside.watching.look()

    assert before == {"answer": "one"}
    assert (beside.run(), beside.value("Zebra")) == ({"answer": "two and more"}, "striped")
    assert [is_fault for _, is_fault in beside.lines] == [True, False]


def test_what_is_well_again_is_told_although_nothing_differs(beside: Beside) -> None:
    good = beside.template.read_bytes()
    for text in (good[:50], good):
        beside.template.write_bytes(text)
        beside.watching.look()
    beside.template.write_bytes(good + b"# saved again")
    beside.watching.look()

    assert [is_fault for _, is_fault in beside.lines] == [True, False]
    assert beside.lines[1][0] == f"{beside.template}: deployed: as before"


def test_a_resource_that_was_removed_comes_back(beside: Beside) -> None:
    body = yaml.safe_load(beside.template.read_text(encoding="utf-8"))
    gone = {"Queue": {"Type": "AWS::SQS::Queue"}, "Second": body["Resources"]["Machine"]}
    more = {**body, "Resources": {**body["Resources"], **gone}}
    for written in (more, body, more):
        beside.template.write_text(yaml.safe_dump(written), encoding="utf-8")
        beside.watching.look()

    assert [line.partition(" deployed: ")[2] for line, _ in beside.lines] == ["Queue, SecondRole, Second"] * 3
    assert {"Queue", "Second"} <= set(beside.stack.physical_ids)


def test_a_change_that_needs_a_restart_is_told(beside: Beside) -> None:
    body = yaml.safe_load(beside.template.read_text(encoding="utf-8"))
    body["Resources"]["Colour"] = {"Type": "AWS::SQS::Queue"}
    beside.template.write_text(yaml.safe_dump(body), encoding="utf-8")
    beside.watching.look()

    ((line, is_fault),) = beside.lines
    assert is_fault
    assert "Colour: a change of AWS::SQS::Queue is taken over by a restart only" in line
    assert beside.value("Colour") == "red"
