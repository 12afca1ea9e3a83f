"""A pipeline of what the local stack does not run: it starts, its stubs answer real MCP calls, and the rest works."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcp_types import TextContent

from stepwire_client import TaskClient, connect
from stepwire_local import FunctionError, LocalStack, StubError
from stepwire_local.lambdas import functions
from stepwire_local.terminal.welcome import told
from stepwire_local.watching import Watching
from tests.waiting import PATIENT

functions.timeout_scale = PATIENT

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent
PIPELINES = FOLDER / "template.yaml"
FOREIGN = "arn:aws:states:eu-west-1:999999999999:stateMachine:Foreign"
FOREIGN_HERE = "arn:aws:states:us-east-1:123456789012:stateMachine:BareBilling"
FOREIGN_ROLE = "arn:aws:iam::999999999999:role/callers"
ASKS = "arn:aws:states:::lambda:invoke.waitForTaskToken"
Json = dict[str, Any]


async def called(url: str, tool: str, **arguments: Any) -> Any:
    """Call a tool as a task of a real client; return its result, or the words of its error."""
    async with connect(url) as client:
        return await result_of(client, tool, arguments)


async def result_of(client: TaskClient, tool: str, arguments: Json) -> Any:
    result = await client.call_tool(tool, arguments)
    if not result.is_error:
        return result.structured_content
    assert isinstance(result.content[0], TextContent)
    return result.content[0].text


@pytest.fixture(scope="module")
def publish(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("given") / "publish.json"
    path.write_text('{"MessageId": "m-1"}', encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def stack(publish: Path) -> Iterator[LocalStack]:
    with LocalStack(ROOT / "stack.yaml", others=[PIPELINES], stubs=[("sns:publish", publish)]) as stack:
        yield stack


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """The same without any stub."""
    template = tmp_path_factory.mktemp("bare") / "template.yaml"
    text = PIPELINES.read_text(encoding="utf-8").replace("LegacyBilling", "BareBilling")  # one account serves both
    template.write_text(text, encoding="utf-8")
    with LocalStack(ROOT / "stack.yaml", others=[template], name="bare") as stack:
        yield stack


async def test_stubs_answer_a_real_call(stack: LocalStack) -> None:
    output = await called(stack.url, "order_pipeline", order="o-17")

    billed = output.pop("billed")
    assert output == {
        "order": "o-17",
        "converted": {"pages": 4, "asked_by": "OrderPipeline"},
        "notified": {"MessageId": "m-1"},
        "crunched": {"JobRunState": "SUCCEEDED", "JobName": "nightly"},
        "charged": {"StatusCode": 200, "ResponseBody": {"charge": "ch-1"}},
        "summary": {"Body": {"completion": "An order."}},
    }
    assert (billed["Status"], billed["Output"]) == ("SUCCEEDED", {"invoice": "i-1"})


@pytest.mark.long
async def test_an_error_of_a_stub_is_caught_by_the_workflow(stack: LocalStack) -> None:
    output = await called(stack.url, "order_pipeline", order="stolen")

    assert output["refused"] == {"Error": "Bank.Refused", "Cause": "card reported stolen"}


@pytest.mark.long
async def test_a_state_machine_known_by_its_arn_alone_is_a_tool(stack: LocalStack) -> None:
    assert await called(stack.url, "legacy_billing", order="o-17") == {"invoice": "i-1"}


def test_the_start_tells_what_stubs_answer_for_and_what_has_none(stack: LocalStack, publish: Path) -> None:
    stubs = FOLDER / "stubs"

    assert told(stack) == [
        "Cannot run here; a stub answers, given as below or as a file in stubs/:",
        "  the function Thumbnail cannot run here: its code is a container image: --stub Thumbnail=answer.json",
        "",
        "Stubs:",
        f"  {publish} (OrderPipeline/Notify)",
        f"  {stubs}/Convert.py (the function Convert, OrderPipeline/Convert)",
        f"  {stubs}/LegacyBilling.json (the state machine LegacyBilling)",
        f"  {stubs}/OrderPipeline/Charge.py (OrderPipeline/Charge)",
        f"  {stubs}/OrderPipeline/Summarise.json (OrderPipeline/Summarise)",
        f"  {stubs}/glue/startJobRun.sync.json (OrderPipeline/Crunch)",
        "",
    ]


def test_a_stub_of_a_function_answers_whoever_invokes_it(stack: LocalStack) -> None:
    client = stack.client("lambda")

    answer = client.invoke(FunctionName=stack.physical_ids["Convert"], Payload=b'{"order": "x"}')
    with pytest.raises(FunctionError, match=r"--stub Thumbnail=answer\.json"):
        stack.invoke("Thumbnail", {})

    assert json.load(answer["Payload"])["pages"] == 1


@pytest.mark.long
async def test_without_stubs_it_starts_and_the_others_work(bare: LocalStack) -> None:
    lines = bare.coverage.missing

    assert sorted(line.rpartition(": --stub ")[2] for line in lines) == [
        "Convert=answer.json",
        "Thumbnail=answer.json",
        f"{FOREIGN_HERE}=answer.json",
        "bedrock:invokeModel=answer.json",
        "glue:startJobRun=answer.json",
        "http:invoke=answer.json",
    ]
    assert "glue:startJobRun is not served here (OrderPipeline/Crunch): --stub glue:startJobRun=answer.json" in lines
    assert await called(bare.url, "steady") == {"said": "hello"}


@pytest.mark.long
async def test_a_call_without_a_stub_fails_and_names_it(bare: LocalStack) -> None:
    error = await called(bare.url, "order_pipeline", order="o-17")

    assert (
        "the function Convert cannot run here: its code is not in a folder on this disk: --stub Convert=answer.json"
        in error
    )


def beside(folder: Path, **resources: Json) -> Path:
    path = folder / "template.yaml"
    body = {"Parameters": {"Endpoint": {"Type": "String"}}, "Resources": resources}
    path.write_text(yaml.safe_dump({"Transform": "AWS::Serverless-2016-10-31", **body}), encoding="utf-8")
    return path


def tool(name: str, machine: str, endpoint: str = "${Endpoint}", **more: Any) -> Json:
    manifest = {"name": name, "description": "Works.", "state_machine": machine, "input_schema": {"type": "object"}}
    value = {"Fn::Sub": yaml.safe_dump({**manifest, **more})}
    place = {"Fn::Sub": f"/stepwire/{endpoint}/tools/{name}"}
    return {"Type": "AWS::SSM::Parameter", "Properties": {"Name": place, "Type": "String", "Value": value}}


def machine(*, tagged: bool = True, **state: Any) -> Json:
    """Return a state machine with one state."""
    states = {"StartAt": "Work", "States": {"Work": {"Type": "Pass", "End": True, **state}}}
    tags = {"Tags": {"stepwire:endpoint": {"Ref": "Endpoint"}}} if tagged else {}
    return {"Type": "AWS::Serverless::StateMachine", "Properties": {"Definition": states, **tags}}


def served(template: Path, **settings: Any) -> LocalStack:
    return LocalStack(ROOT / "stack.yaml", others=[template], **settings)


def stub(folder: Path, name: str, answer: Any) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(answer if isinstance(answer, str) else json.dumps(answer), encoding="utf-8")
    return path


@pytest.mark.long
async def test_a_state_machine_of_another_account_is_served_by_a_stub(tmp_path: Path) -> None:
    arns = {"itself": FOREIGN, "an_alias": f"{FOREIGN}:live", "a_version": f"{FOREIGN}:3"}
    resources = {f"Tool{at}": tool(name, arns[name], role=FOREIGN_ROLE) for at, name in enumerate(arns)}
    template = beside(tmp_path, **resources)
    answer = stub(tmp_path, "foreign.json", {"Throw": {"Error": "Bank.Closed", "Cause": "holiday"}})
    settings: Json = {"stubs": [(FOREIGN, answer)], "parameters": {"WorkflowRoleArns": FOREIGN_ROLE}}
    settings["variables"] = {"REPAIR_AFTER_SECONDS": "1"}

    with served(template, **settings) as stack:
        errors = [await called(stack.url, name) for name in arns]
        faults = stack.faults

    assert ["Bank.Closed: holiday" in error for error in errors] == [True] * 3, errors
    assert faults == ("Foreign: no rule reports its end; a poll a minute later or the sweep finds it",)


@pytest.mark.long
async def test_a_state_machine_of_the_template_can_be_a_stub_as_a_whole(tmp_path: Path) -> None:
    afar = {"DefinitionUri": "s3://bucket/key.json", "Tags": {"stepwire:endpoint": {"Ref": "Endpoint"}}}
    template = beside(
        tmp_path,
        Machine=machine(Type="Task", Resource="arn:aws:states:::http:invoke"),
        Tool=tool("whole", "${Machine}"),
        Afar={"Type": "AWS::Serverless::StateMachine", "Properties": afar},
        AfarTool=tool("afar", "${Afar}"),
    )
    stub(tmp_path, "stubs/Machine.py", "def answer(given): return {'given': given}")

    with served(template) as stack:
        missing = stack.coverage.missing
        whole, error = await called(stack.url, "whole"), await called(stack.url, "afar")

    assert whole == {"given": {}}
    assert missing == ["the definition of Afar is not on this disk: --stub Afar=answer.json"]
    assert "Afar has no stub: --stub Afar=answer.json" in error


@pytest.mark.long
def test_the_start_tells_what_tools_miss(tmp_path: Path) -> None:
    start = {"StateMachineArn": {"Ref": "Nested"}, "Input": {}}
    form = {"type": "object", "properties": {"go": {"type": "boolean"}}, "required": ["go"]}
    question = {"key": "apporval", "elicitation": {"message": "May I?", "requestedSchema": form}}
    template = beside(
        tmp_path,
        Machine=machine(Type="Task", Resource="arn:aws:states:::states:startExecution.sync:2", Parameters=start),
        Nested=machine(),
        Forgotten=machine(),
        Plain=machine(tagged=False),
        Tool=tool("ours", "${Machine}"),
        Other=tool("theirs", "${Machine}", endpoint="somebody"),
        Refunds=machine(Type="Task", Resource=ASKS, Parameters={"FunctionName": "f", "Payload": question}),
        RefundTool=tool("refund", "${Refunds}", approvers={"scope": "refunds", "questions": ["approval"]}),
        ReturnTool=tool("return", "${Refunds}", approvers={"scope": "refunds"}),
        ForeignTool=tool("foreign", FOREIGN, role=FOREIGN_ROLE, approvers={"scope": "x", "questions": ["approval"]}),
    )

    with served(template, name="mine", parameters={"WorkflowRoleArns": FOREIGN_ROLE}) as stack:
        faults = stack.faults

    assert faults == (
        "theirs: registered for the endpoint somebody, and this one is mine (--name): it is not listed",
        "Forgotten: has the tag of the endpoint, and no manifest names it: it is no tool",
        "refund: approvers.questions: no state asks approval (did you mean apporval?), "
        "and the caller answers apporval (state Work)",
        "return: approvers: the form of state Work requires go, which may ask for the decision again: the buttons "
        "decide, whatever go says",
    )


@pytest.mark.long
def test_a_manifest_that_cannot_be_read_may_name_any_state_machine(tmp_path: Path) -> None:
    broken = tool("ours", "${Machine}")
    broken["Properties"]["Value"] = {"Fn::Sub": "name: ours\nstate_machine: ${Machine}\ndescription: ["}
    template = beside(tmp_path, Machine=machine(), Tool=broken)

    with served(template) as stack:
        faults = stack.faults

    assert faults == (), "function catalog says what is wrong"


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ({"source": ["somebody"]}, "no rule reports its end; "),
        (
            {"source": ["aws.states"], "detail": {"status": ["SUCCEEDED", "FAILED"]}},
            "where it is TIMED_OUT or ABORTED; ",
        ),
        ({"source": ["aws.states"]}, ""),
    ],
)
def test_an_end_that_no_rule_reports_is_told(tmp_path: Path, pattern: Json, words: str) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "app.py").write_text("handler = lambda event, context: None", encoding="utf-8")
    code = {"CodeUri": "code", "Handler": "app.handler", "Runtime": "python3.13"}
    targets = [{"Id": "f", "Arn": {"Fn::GetAtt": ["F", "Arn"]}}]
    template = beside(
        tmp_path,
        F={"Type": "AWS::Serverless::Function", "Properties": code},
        Rule={"Type": "AWS::Events::Rule", "Properties": {"EventPattern": pattern, "Targets": targets}},
        Machine=machine(),
        Tool=tool("ours", "${Machine}"),
    )

    with LocalStack(template) as stack:
        faults = stack.faults

    assert [line.startswith("Machine: no rule reports its end") and words in line for line in faults] == (
        [True] if words else []
    )


def test_a_stub_that_answers_for_nothing_is_told_with_what_it_may_mean(tmp_path: Path) -> None:
    template = beside(tmp_path, OrderPipeline=machine())
    answer = stub(tmp_path, "a.json", 1)

    with served(template, stubs=[("OrderPipelin", answer)]) as stack:
        assert f"  {answer}: nothing here asks for OrderPipelin; did you mean OrderPipeline?" in told(stack)


@pytest.mark.long
def test_a_stub_that_another_precedes_is_told_without_its_own_name_as_what_it_may_mean(tmp_path: Path) -> None:
    topic = {"TopicArn": "arn:aws:sns:us-east-1:123456789012:t", "Message": "m"}
    asks = machine(Type="Task", Resource="arn:aws:states:::sns:publish", Parameters=topic)
    answer = stub(tmp_path, "a.json", {})

    with served(beside(tmp_path, Asks=asks), stubs=[("Asks/Work", answer), ("sns/publish", answer)]) as stack:
        why = "what asks for sns:publish has another stub, or is of another template"
        assert f"  {answer}: nothing uses it: {why}" in told(stack)


@pytest.mark.parametrize("region", ["nowhere-1"])
def test_an_arn_that_leads_nowhere_stops_the_start(tmp_path: Path, region: str) -> None:
    name = FOREIGN.replace("eu-west-1", region)

    with (
        pytest.raises(StubError, match="there is no Region nowhere-1"),
        served(beside(tmp_path, M=machine()), stubs=[(name, stub(tmp_path, "a.json", 1))]),
    ):
        pass


def test_a_python_function_without_its_package_needs_a_stub(tmp_path: Path) -> None:
    stub(tmp_path, "code/app.py", "import nothing_of_this_name\ndef handler(event, context): return 1")
    code = {"CodeUri": "code", "Handler": "app.handler", "Runtime": "python3.13"}
    template = beside(tmp_path, F={"Type": "AWS::Serverless::Function", "Properties": code})

    with served(template) as stack:
        missing = stack.coverage.missing
        stub(tmp_path, "stubs/F.json", {"stubbed": True})
        changed = stack.update_stubs()
        answer = stack.invoke("F", {})

    why = "nothing_of_this_name is not installed here (uvx --with nothing_of_this_name stepwire-local)"
    reason = f"cannot import {tmp_path}/code/app.py: ModuleNotFoundError: {why}"
    assert missing == [f"the function F cannot run here: {reason}: --stub F=answer.json"]
    assert (changed, answer) == (["F"], {"stubbed": True})


@pytest.mark.long
async def test_a_change_of_stubs_is_taken_over_while_it_serves(tmp_path: Path) -> None:
    send = machine(Type="Task", Resource="arn:aws:states:::ecs:runTask", Parameters={"TaskDefinition": "x"})
    billing = tool("billing", "OldBilling")
    template = beside(tmp_path, Machine=send, Tool=tool("send", "${Machine}"), Billing=billing)
    lines: list[tuple[str, bool]] = []

    with served(template) as stack:
        watching = Watching(stack, lambda words, is_fault: lines.append((words, is_fault)))
        missing = await called(stack.url, "send")
        stub(tmp_path, "stubs/ecs/runTask.json", {"MessageId": "one"})
        watching.look()
        one = await called(stack.url, "send")
        stub(tmp_path, "stubs/ecs/runTask.json", "{")
        watching.look()
        kept = await called(stack.url, "send")
        (tmp_path / "stubs" / "ecs" / "runTask.json").unlink()
        stub(tmp_path, "stubs/Machine.json", {"whole": True})
        stub(tmp_path, "stubs/OldBilling.json", {"billed": True})
        stub(tmp_path, "stubs/Nobody.json", 1)
        watching.look()
        whole = await called(stack.url, "send")
        watching.look()

    assert "--stub ecs:runTask=answer.json" in missing
    assert (one, kept, whole) == ({"MessageId": "one"}, {"MessageId": "one"}, {"whole": True})
    assert [words for words, is_fault in lines if not is_fault] == [
        "stubs: taken over: ecs/runTask",
        "stubs: taken over: Machine, Nobody, OldBilling, ecs/runTask",
    ]
    assert [words.partition(": ")[2] for words, is_fault in lines if is_fault] == [
        f"not taken over, the last good one serves: {tmp_path}/stubs/ecs/runTask.json, line 1, column 2: not JSON: "
        "Expecting property name enclosed in double quotes.",
        "nothing here asks for Nobody",
    ]
