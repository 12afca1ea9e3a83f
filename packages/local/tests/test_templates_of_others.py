"""Templates as others write them start beside the endpoint's, or say in one line why they cannot."""

import json
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any
from zipfile import ZipFile

import httpx
import pytest

from packages.local.tests.conftest import TEMPLATE
from stepwire_local import LocalStack, TemplateError
from stepwire_local.lambdas.invocations import FunctionSettings
from stepwire_local.stack import FunctionError
from stepwire_local.survey.code_reads import mark_reads
from stepwire_local.survey.examples import Examples
from stepwire_local.survey.shapes import MOMENT, Shape
from tests.waiting import until

FUNCTION = "def handler(event, context):\n    return event\n"


@contextmanager
def beside(folder: Path, template: str, files: dict[str, str] | None = None, **settings: Any) -> Generator[LocalStack]:
    """Serve a template beside the tests' own, with files in its folder."""
    path = folder / "template.yaml"
    for name, text in {"template.yaml": dedent(template), **(files or {})}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    with LocalStack(TEMPLATE, others=[path], **settings) as stack:
        yield stack


def refused(folder: Path, template: str, **settings: Any) -> str:
    """Return the line that says why a template cannot be served."""
    with pytest.raises(TemplateError) as caught, beside(folder, template, **settings):
        pass
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 700
    return str(caught.value)


def ended(stack: LocalStack, machine: str, given: object = None) -> Any:
    """Run a state machine, and describe its execution once it has ended."""
    workflows = stack.client("stepfunctions")
    arn = stack.physical_ids[machine]
    execution = workflows.start_execution(stateMachineArn=arn, input=json.dumps(given or {}))["executionArn"]

    def look() -> Any:
        described = workflows.describe_execution(executionArn=execution)
        return None if described["status"] == "RUNNING" else described

    return until(look)


def test_a_function_s_events_of_type_http_api_are_routes(tmp_path: Path) -> None:
    """The SAM transform writes them into the body of an API."""
    template = """
        Transform: AWS::Serverless-2016-10-31
        Resources:
          Things:
            Type: AWS::Serverless::Function
            Properties:
              Runtime: python3.13
              Handler: app.handler
              CodeUri: src/
              Events:
                Get: {Type: HttpApi, Properties: {Path: "/things/{id}", Method: get}}
                Rest: {Type: HttpApi}
        """
    code = "import json\ndef handler(event, context):\n    return {'statusCode': 200, 'body': event['routeKey']}\n"
    (tmp_path / "src").mkdir()
    (tmp_path / "src/app.py").write_text(code, encoding="utf-8")
    (tmp_path / "template.yaml").write_text(dedent(template), encoding="utf-8")

    with LocalStack(tmp_path / "template.yaml") as stack:
        answers = [httpx.get(f"{stack.base_url}{path}").text for path in ("/things/7", "/others")]

    assert answers == ["GET /things/{id}", "$default"]


def test_an_import_that_fails_names_the_package_and_the_file_to_install(tmp_path: Path) -> None:
    resource = {"Runtime": "python3.13", "Handler": "app.handler", "CodeUri": "src"}
    function = {"Type": "AWS::Serverless::Function", "Properties": resource}
    template = {"Transform": "AWS::Serverless-2016-10-31", "Resources": {"F": function}}
    (tmp_path / "src").mkdir()
    (tmp_path / "template.yaml").write_text(json.dumps(template), encoding="utf-8")
    (tmp_path / "src/app.py").write_text("import no_such_package\n", encoding="utf-8")
    (tmp_path / "src/requirements.txt").write_text("no-such-package\n", encoding="utf-8")

    with LocalStack(tmp_path / "template.yaml") as stack:
        (missing,) = stack.coverage.missing

    hint = f"no_such_package is not installed here (pip install -r {tmp_path}/src/requirements.txt)"
    assert missing.endswith(f"{tmp_path}/src/app.py: ModuleNotFoundError: {hint}: --stub F=answer.json")


def output(stack: LocalStack, machine: str, given: object = None) -> Any:
    described = ended(stack, machine, given)
    assert described["status"] == "SUCCEEDED", described
    return json.loads(described["output"])


DEFINITION = """{
\t"StartAt": "Wait",
\t"TimeoutSeconds": ${total},
\t"States": {
\t\t"Wait": {"Type": "Wait", "Seconds": "${seconds}", "Next": "Put"},
\t\t"Put": {
\t\t\t"Type": "Task",
\t\t\t"Resource": "arn:aws:states:::dynamodb:putItem",
\t\t\t"Parameters": {"TableName": "${table}", "Item": {"id.$": "$.id", "since": "${since}"}},
\t\t\t"Next": "Check"
\t\t},
\t\t"Check": {
\t\t\t"Type": "Choice",
\t\t\t"Choices": [{"Variable": "$.SdkHttpMetadata.HttpStatusCode", "NumericEquals": 200, "Next": "End"}]
\t\t},
\t\t"End": {"Type": "Pass", "Result": "in", "End": true}
\t}
}"""


def test_dates_numbers_and_texts_are_what_cloudformation_makes_of_them(tmp_path: Path) -> None:
    template = """
        AWSTemplateFormatVersion: 2010-09-09
        Transform: AWS::Serverless-2016-10-31
        Parameters:
          Seconds: {Type: String, Default: "0"}
          Since: {Type: String, Default: 2026-01-31}
        Resources:
          Table:
            Type: AWS::DynamoDB::Table
            Properties:
              AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
              KeySchema: [{AttributeName: id, KeyType: HASH}]
              ProvisionedThroughput: {ReadCapacityUnits: "10", WriteCapacityUnits: "10"}
          Role:
            Type: AWS::IAM::Role
            Properties:
              AssumeRolePolicyDocument: {Version: 2012-10-17, Statement: []}
              ManagedPolicyArns: [arn:aws:iam::aws:policy/AmazonDynamoDBFullAccess]
          Machine:
            Type: AWS::Serverless::StateMachine
            Properties:
              Role: !GetAtt Role.Arn
              DefinitionUri: machine.asl.json
              DefinitionSubstitutions: {seconds: !Ref Seconds, total: 60, table: !Ref Table, since: !Ref Since}
    """
    with beside(tmp_path, template, {"machine.asl.json": DEFINITION}) as stack:
        assert output(stack, "Machine", {"id": "a"}) == "in"
        (item,) = stack.client("dynamodb").scan(TableName=stack.physical_ids["Table"])["Items"]

    assert item == {"id": {"S": "a"}, "since": {"S": "2026-01-31"}}


MISSING = """
    Parameters:
      BucketName: {Type: String, MinLength: 3}
      Stage: {Type: String, AllowedValues: [dev, prod]}
      Size: {Type: Number, MinValue: 5}
      Mail: {Type: String, AllowedPattern: "[^@]+@[^@]+"}
      Image: {Type: AWS::SSM::Parameter::Value<String>, Default: /aws/service/image}
      Code: {Type: String, Default: given}
    Resources:
      Told:
        Type: AWS::SSM::Parameter
        Properties: {Type: String, Value: !Sub "${BucketName} ${Stage} ${Size} ${Mail} ${Image} ${Code}"}
"""


def test_all_missing_parameters_are_asked_for_at_once(tmp_path: Path) -> None:
    line = refused(tmp_path, MISSING, parameters={"Stage": "prod"})

    assert line == (
        "Parameters BucketName, Size, Mail have no default. Give: --parameter BucketName=bucket-name "
        "--parameter Size=5 --parameter Mail=someone@example.com (or --make-up-parameters)"
    )


def test_missing_parameters_are_made_up(tmp_path: Path) -> None:
    with beside(tmp_path, MISSING, make_up_parameters=True) as stack:
        name = stack.physical_ids["Told"]
        told = stack.client("ssm").get_parameter(Name=name)["Parameter"]["Value"]

    assert told == "bucket-name dev 5 someone@example.com image-is-not-served-locally given"
    made_up = {"BucketName": "bucket-name", "Stage": "dev", "Size": "5", "Mail": "someone@example.com"}
    assert stack.made_up == made_up


def test_a_parameter_that_cannot_be_made_up_is_asked_for(tmp_path: Path) -> None:
    template = """
        Parameters: {Odd: {Type: String, AllowedPattern: "[QX]{7}"}}
        Resources: {Queue: {Type: AWS::SQS::Queue}}
    """

    assert "--parameter Odd=..." in refused(tmp_path, template, make_up_parameters=True)


def test_code_that_cannot_be_loaded_does_not_stop_the_start(tmp_path: Path) -> None:
    template = """
        Transform: AWS::Serverless-2016-10-31
        Globals: {Function: {Handler: app.handler, Runtime: python3.13}}
        Resources:
          Newer: {Type: AWS::Serverless::Function, Properties: {CodeUri: newer}}
          Gone: {Type: AWS::Serverless::Function, Properties: {CodeUri: gone}}
          Leaves: {Type: AWS::Serverless::Function, Properties: {CodeUri: leaves}}
          Empty: {Type: AWS::Serverless::Function, Properties: {CodeUri: .}}
          Zipped: {Type: AWS::Serverless::Function, Properties: {CodeUri: zipped.zip}}
          Beside: {Type: AWS::Serverless::Function, Properties: {Handler: beside.handler}}
          Layer: {Type: AWS::Serverless::LayerVersion, Properties: {ContentUri: gone}}
    """
    files = {"newer/app.py": "def handler(:", "leaves/app.py": "raise SystemExit(1)", "beside.py": FUNCTION}
    with ZipFile(tmp_path / "zipped.zip", "w") as archive:
        archive.writestr("app.py", FUNCTION)

    with beside(tmp_path, template, files) as stack:
        results = [stack.invoke(name, {"in": 1}) for name in ("Zipped", "Beside")]
        missing = dict(line.split(" cannot run here: ") for line in stack.coverage.missing)

    assert results == [{"in": 1}, {"in": 1}]
    assert "app.py: SyntaxError: " in missing["the function Newer"]
    assert missing["the function Gone"] == "its code is not in a folder on this disk: --stub Gone=answer.json"
    assert "app.py: SystemExit: 1: " in missing["the function Leaves"]
    assert "app.py, which does not exist" in missing["the function Empty"]


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("Resources:\n", "it has no Resources"),
        ("Resources: []\n", "it has no Resources"),
        ("Resources: {A: {Properties: {}}}\n", "the resource A has no Type"),
        ("Resources: {A: x}\n", "the resource A has no Type"),
        (
            "Resources: {A: {Type: AWS::SQS::Queue, Properties: x}}\n",
            "A: Properties is no object, which CloudFormation",
        ),
        ("Resources: {A: {Type: AWS::SQS::Queue, Properties: }}\n", "A: Properties is empty, which CloudFormation"),
        ("Outputs:\nResources: {A: {Type: AWS::SQS::Queue}}\n", "Outputs is empty"),
        ("Globals: {Function: }\nResources: {A: {Type: AWS::SQS::Queue}}\n", "Globals: Function is empty"),
        (
            "Resources: {Fn::ForEach::A: [B, [C], {}]}\n",
            "Fn::ForEach::A: loops of AWS::LanguageExtensions are not served",
        ),
        ("Resources: {A: {Type: AWS::SQS::Queue, Properties: {QueueName: !Cidr []}}}\n", "A: The local stack does not"),
        ("Resources: {A: {Type: AWS::IAM::Policy, Properties: {Roles: 3}}}\n", "cannot be served"),
    ],
)
def test_a_template_of_an_odd_shape_is_one_line(tmp_path: Path, template: str, words: str) -> None:
    assert words in refused(tmp_path, template)


def test_roles_and_destinations_that_are_not_here_do_not_stop_the_start(tmp_path: Path) -> None:
    template = """
        Resources:
          Stream: {Type: AWS::Kinesis::Stream}
          Table:
            Type: AWS::DynamoDB::Table
            Properties:
              AttributeDefinitions: [{AttributeName: pk, AttributeType: S}]
              KeySchema: [{AttributeName: pk, KeyType: HASH}]
              StreamSpecification: {StreamViewType: NEW_IMAGE}
          Echo:
            Type: AWS::Lambda::Function
            Properties:
              Role: arn:aws:iam::987654321098:role/LabRole
              Handler: app.handler
              Runtime: python3.13
              Code: src
              DeadLetterConfig: {TargetArn: !Ref Stream}
          Changes:
            Type: AWS::Lambda::EventSourceMapping
            Properties:
              FunctionName: !Ref Echo
              EventSourceArn: !GetAtt Table.StreamArn
              StartingPosition: LATEST
              DestinationConfig: {OnFailure: {Destination: !Ref Stream}}
        """

    with beside(tmp_path, template, {"src/app.py": FUNCTION}) as stack:
        notes = [line for line in stack.not_served if line.startswith(("Echo: ", "Changes: "))]
        assert stack.invoke("Echo", {"a": 1}) == {"a": 1}

    events, role, records = notes
    assert (
        role
        == "Echo: its role arn:aws:iam::987654321098:role/LabRole is not of this template, so every call is allowed"
    )
    assert events.startswith("Echo: failed events do not go to Stream")
    assert records.startswith("Changes: failed records do not go to Stream")


def test_a_definition_has_a_mark_of_its_encoding_and_a_flag_in_place_of_a_placeholder(tmp_path: Path) -> None:
    template = """
        Transform: AWS::Serverless-2016-10-31
        Resources:
          Machine:
            Type: AWS::Serverless::StateMachine
            Properties: {DefinitionUri: m.asl.json, DefinitionSubstitutions: {Last: true}}
        """
    definition = '\ufeff{"StartAt": "A",\r\n"States": {"A": {"Type": "Pass", "Result": "is ${Last}", "End": ${Last}}}}'

    with beside(tmp_path, template, {"m.asl.json": definition}) as stack:
        assert json.loads(ended(stack, "Machine")["output"]) == "is true"


def test_an_api_of_events_has_the_cors_of_its_configuration(tmp_path: Path) -> None:
    """The SAM transform writes it into the body of the API."""
    template = """
        Transform: AWS::Serverless-2016-10-31
        Resources:
          Api:
            Type: AWS::Serverless::HttpApi
            Properties: {CorsConfiguration: {AllowOrigins: [https://page.example], AllowMethods: [GET], MaxAge: 60}}
          Echo:
            Type: AWS::Serverless::Function
            Properties:
              Runtime: python3.13
              Handler: app.handler
              CodeUri: src
              Events: {Get: {Type: HttpApi, Properties: {ApiId: !Ref Api, Path: /, Method: any}}}
        """
    (tmp_path / "src").mkdir()
    (tmp_path / "src/app.py").write_text(FUNCTION, encoding="utf-8")
    (tmp_path / "template.yaml").write_text(dedent(template), encoding="utf-8")
    headers = {"origin": "https://page.example", "access-control-request-method": "GET"}

    with LocalStack(tmp_path / "template.yaml") as stack:
        preflight = httpx.options(f"{stack.base_url}/", headers=headers)

    assert preflight.status_code == 204
    assert {name: value for name, value in preflight.headers.items() if name.startswith("access-control-")} == {
        "access-control-allow-origin": "https://page.example",
        "access-control-allow-methods": "GET",
        "access-control-max-age": "60",
    }


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        ("{", "m.json is not JSON"),
        ("[1]", "Property 'Definition' should be a map"),
        ('{"StartAt": "A", "States": []}', "the definition has no States"),
        ('{"StartAt": "A", "States": {}}', "StartAt names the state 'A'"),
        ('{"StartAt": "A", "States": {"A": "x"}}', "the state 'A' has no Type"),
        ('{"StartAt": "B", "States": {"A": {"Type": "Succeed"}}}', "StartAt names the state 'B'"),
        ('{"StartAt": "A", "States": {"A": {"Type": "Pass", "Colour": 1, "End": true}}}', "M: ASLParserException"),
        (
            '{"StartAt": "A", "States": {"A": {"Type": "Parallel", "End": true, "Branches": [{"StartAt": "B", '
            '"States": {"B": {"Type": "Pass", "Next": "C"}}}]}}}',
            "B.Next names the state 'C'",
        ),
    ],
)
def test_an_invalid_definition_is_one_line(tmp_path: Path, definition: str, words: str) -> None:
    (tmp_path / "m.json").write_text(definition, encoding="utf-8")
    template = """
        Transform: AWS::Serverless-2016-10-31
        Resources: {M: {Type: AWS::Serverless::StateMachine, Properties: {DefinitionUri: m.json}}}
    """

    assert words in refused(tmp_path, template)


def test_an_invented_error_of_step_functions_is_told(tmp_path: Path) -> None:
    template = """
        Transform: AWS::Serverless-2016-10-31
        Resources:
          Machine:
            Type: AWS::Serverless::StateMachine
            Properties:
              Definition: {StartAt: Fail, States: {Fail: {Type: Fail, Error: States.QuorumMet}}}
    """

    with beside(tmp_path, template) as stack:
        error = ended(stack, "Machine")["error"]

    assert error == "States.QuorumMet"
    assert "Machine: States.QuorumMet is no error of Step Functions, which keeps the prefix States." in stack.not_served


READER = """
    Transform: AWS::Serverless-2016-10-31
    Resources:
      Data: {Type: AWS::S3::Bucket}
      Machine:
        Type: AWS::Serverless::StateMachine
        Properties:
          Policies: [{S3ReadPolicy: {BucketName: !Ref Data}}]
          DefinitionSubstitutions: {bucket: !Ref Data}
          Definition:
            StartAt: Read
            States:
              Read:
                Type: Map
                End: true
                ItemReader:
                  Resource: arn:aws:states:::s3:getObject
                  ReaderConfig: {InputType: CSV, CSVHeaderLocation: FIRST_ROW}
                  Parameters: {Bucket: "${bucket}", Key: in/rows.csv}
                ItemProcessor:
                  ProcessorConfig: {Mode: DISTRIBUTED, ExecutionType: EXPRESS}
                  StartAt: Keep
                  States: {Keep: {Type: Pass, End: true}}
"""


@pytest.mark.parametrize(
    "files",
    [
        {"buckets/Data/in/rows.csv": "id,size\n1,2\n"},
        {"stubs/Read.json": '[{"id": "1", "size": "2"}]'},
        {"stubs/s3/getObject.json": '"id,size\\n1,2\\n"'},
    ],
    ids=["folder", "items", "content"],
)
def test_a_distributed_map_reads_a_file_of_the_developer_or_a_stub(tmp_path: Path, files: dict[str, str]) -> None:
    with beside(tmp_path, READER, files) as stack:
        assert output(stack, "Machine") == [{"id": "1", "size": "2"}]


def test_a_bucket_that_no_template_has_is_made_for_its_files(tmp_path: Path) -> None:
    with beside(tmp_path, "Resources: {Q: {Type: AWS::SQS::Queue}}", {"buckets/uploads/a/b.txt": "hello"}) as stack:
        got = stack.client("s3").get_object(Bucket="uploads", Key="a/b.txt")["Body"].read()

    assert got == b"hello"


def test_an_sdk_integration_with_a_region_is_no_function(tmp_path: Path) -> None:
    template = """
        Transform: AWS::Serverless-2016-10-31
        Resources:
          Machine:
            Type: AWS::Serverless::StateMachine
            Properties:
              Definition:
                StartAt: Look
                States:
                  Look:
                    Type: Task
                    Resource: !Sub arn:aws:states:${AWS::Region}:${AWS::AccountId}:aws-sdk:textract:detectDocumentText
                    End: true
    """
    with beside(tmp_path, template, {"stubs/aws-sdk/textract/detectDocumentText.json": '{"Blocks": []}'}) as stack:
        assert output(stack, "Machine") == {"Blocks": []}


ROLE = """
    Transform: AWS::Serverless-2016-10-31
    Resources:
      Table:
        Type: AWS::Serverless::SimpleTable
      Function:
        Type: AWS::Serverless::Function
        Properties: {CodeUri: code, Handler: app.handler, Runtime: python3.13, Policies: [POLICY]}
"""
READS = """
import boto3

client = boto3.client("dynamodb")


def handler(event, context):
    return client.get_item(TableName=event, Key={"id": {"S": "1"}}).get("Item")
"""


def test_a_managed_policy_allows_what_its_name_says(tmp_path: Path) -> None:
    with beside(tmp_path, ROLE.replace("POLICY", "AmazonDynamoDBReadOnlyAccess"), {"code/app.py": READS}) as stack:
        assert stack.invoke("Function", stack.physical_ids["Table"]) is None


def test_a_refused_call_names_the_managed_policy_that_is_unknown(tmp_path: Path, refusals: list[str]) -> None:
    with (
        beside(tmp_path, ROLE.replace("POLICY", "AWSMysteryPolicy"), {"code/app.py": READS}) as stack,
        pytest.raises(FunctionError, match="unknown here, and so ignored: AWSMysteryPolicy"),
    ):
        stack.invoke("Function", stack.physical_ids["Table"])

    assert len(refusals) == 1
    refusals.clear()


def test_a_call_of_a_service_that_is_not_simulated_names_the_stub(tmp_path: Path) -> None:
    code = "import boto3\n\n\ndef handler(event, context):\n    boto3.client('polly').list_lexicons()\n"
    words = r"polly\.ListLexicons is not simulated on this machine.* --stub Function=answer.json"
    with (
        beside(tmp_path, ROLE.replace("POLICY", "AWSLambdaRole"), {"code/app.py": code}) as stack,
        pytest.raises(FunctionError, match=words),
    ):
        stack.invoke("Function", {})


WITHOUT_STUBS = """
    Transform: AWS::Serverless-2016-10-31
    Resources:
      Queue: {Type: AWS::SQS::Queue}
      Convert:
        Type: AWS::Serverless::Function
        Properties: {CodeUri: dist, Handler: index.handler, Runtime: nodejs22.x}
      Machine:
        Type: AWS::Serverless::StateMachine
        Properties:
          Policies: [{SQSSendMessagePolicy: {QueueName: !GetAtt Queue.QueueName}}]
          DefinitionSubstitutions: {convert: !GetAtt Convert.Arn, queue: !Ref Queue}
          DefinitionUri: machine.asl.yaml
"""
POLLING = """
StartAt: Begin
States:
  Begin: {Type: Task, Resource: "arn:aws:states:::glue:startJobRun", ResultPath: $.job, Next: Look}
  Look:
    Type: Task
    Resource: arn:aws:states:::aws-sdk:glue:getJobRun
    Parameters: {JobName: a, RunId.$: $.job.JobRunId}
    ResultSelector: {state.$: $.JobRun.JobRunState, seconds.$: $.JobRun.ExecutionTime}
    ResultPath: $.seen
    Next: Done?
  Done?:
    Type: Choice
    Choices:
      - {Variable: $.seen.state, StringEquals: FAILED, Next: Failed}
      - {Variable: $.seen.state, StringEquals: SUCCEEDED, Next: Convert}
    Default: Wait
  Wait: {Type: Wait, Seconds: 600, Next: Look}
  Failed: {Type: Fail}
  Convert:
    Type: Task
    Resource: arn:aws:states:::lambda:invoke
    Parameters: {FunctionName: "${convert}", Payload.$: $}
    OutputPath: $.Payload
    Next: Each
  Each:
    Type: Map
    ItemsPath: $.pages
    ItemProcessor:
      StartAt: Number
      States:
        Number: {Type: Pass, Parameters: {"text.$": "States.Format('{}: {}', $.title, $.word_count)"}, End: true}
    ResultPath: $.texts
    Next: Ask
  Ask:
    Type: Task
    QueryLanguage: JSONata
    Resource: arn:aws:states:::sqs:sendMessage.waitForTaskToken
    Arguments: {QueueUrl: "${queue}", MessageBody: "{% $states.context.Task.Token %}"}
    Output: {texts: "{% $states.input.texts %}", by: "{% $states.result.approved_by %}"}
    End: true
"""


def test_a_resource_with_a_name_that_nothing_replaces_is_said(tmp_path: Path) -> None:
    template = """
        Resources:
          Machine:
            Type: AWS::Serverless::StateMachine
            Properties:
              Definition:
                StartAt: Send
                States: {Send: {Type: Task, Resource: "arn:${Partition}:states:::sns:publish", End: true}}
    """
    with beside(tmp_path, template) as stack:
        resource = "arn:${Partition}:states:::sns:publish"
        lacks = f"{resource} has a name that DefinitionSubstitutions lacks (Machine/Send)"
        assert stack.coverage.missing == [f"{lacks}: --stub '{resource}=answer.json'"]


def test_missing_stubs_are_written_with_answers_that_the_definition_can_read(tmp_path: Path) -> None:
    with beside(tmp_path, WITHOUT_STUBS, {"machine.asl.yaml": POLLING}) as stack:
        waits = "Machine/Ask waits until something sends its task token, which sqs:sendMessage gets: "
        assert stack.coverage.awaited == [f"{waits}--stub Machine/Ask=answer.json"]
        written = stack.write_stubs()

        assert {str(path.relative_to(tmp_path)) for path in written} == {
            "stubs/Convert.json",
            "stubs/Machine/Ask.json",
            "stubs/aws-sdk/glue/getJobRun.json",
            "stubs/glue/startJobRun.json",
        }
        assert json.loads((tmp_path / "stubs/aws-sdk/glue/getJobRun.json").read_text()) == {
            "JobRun": {"JobRunState": "SUCCEEDED", "ExecutionTime": 1}
        }
        assert (stack.coverage.missing, stack.coverage.awaited) == ([], [])
        assert output(stack, "Machine") == {"texts": [{"text": "text: 1"}], "by": "text"}


def test_the_answer_for_a_job_that_is_waited_for_has_the_types_of_what_describes_it(tmp_path: Path) -> None:
    waits = """
        StartAt: Run
        States:
          Run:
            Type: Task
            Resource: arn:aws:states:::glue:startJobRun.sync
            ResultSelector: {seconds.$: $.ExecutionTime, began.$: $.StartedOn, size.$: $.MaxCapacity}
            End: true
        """
    with beside(tmp_path, WITHOUT_STUBS, {"machine.asl.yaml": dedent(waits)}) as stack:
        stack.write_stubs()

    answer = json.loads((tmp_path / "stubs/glue/startJobRun.json").read_text())
    assert answer == {"ExecutionTime": 1, "StartedOn": MOMENT, "MaxCapacity": 1}


READS_STUBS = """
    Transform: AWS::Serverless-2016-10-31
    Resources:
      Charge:
        Type: AWS::Serverless::Function
        Properties: {CodeUri: dist, Handler: index.handler, Runtime: nodejs22.x}
      Total:
        Type: AWS::Serverless::Function
        Properties: {CodeUri: code, Handler: app.handler, Runtime: python3.13}
      Machine:
        Type: AWS::Serverless::StateMachine
        Properties:
          Policies: [{LambdaInvokePolicy: {FunctionName: !Ref Total}}]
          DefinitionSubstitutions: {charge: !GetAtt Charge.Arn, total: !GetAtt Total.Arn}
          Definition:
            QueryLanguage: JSONata
            StartAt: Charge
            States:
              Charge:
                Type: Task
                Resource: arn:aws:states:::lambda:invoke
                Arguments: {FunctionName: "${charge}"}
                Output: >-
                  {% $merge([$states.input,
                     {'paid': $states.result.Payload, 'shops': $states.result.Payload.shops}]) %}
                Next: Each
              Each:
                Type: Map
                Items: "{% $states.input.shops %}"
                ItemProcessor: {StartAt: Shop, States: {Shop: {Type: Pass, End: true}}}
                Output: "{% $states.input.paid %}"
                Next: Total
              Total: {Type: Task, Resource: "${total}", End: true}
"""
TOTAL = """
def handler(event, context):
    if not isinstance(event.get("lines"), list):
        raise ValueError("lines must be a list")
    return event["charged"] - 1 + sum(line["count"] for line in event["lines"]) + len(event.get("note", ""))
"""


def test_a_made_up_answer_has_what_the_next_states_and_the_code_of_the_next_function_read(tmp_path: Path) -> None:
    with beside(tmp_path, READS_STUBS, {"code/app.py": TOTAL}) as stack:
        stack.write_stubs()
        made_up = tmp_path / "stubs/Charge.json"

        assert json.loads(made_up.read_text()) == {"shops": ["text"], "lines": [{"count": 1}], "charged": 1}
        assert output(stack, "Machine") == 1

        made_up.write_text('{"shops": [], "charged": 1, "lines": "none"}', encoding="utf-8")
        stack.update_stubs()
        failed = ended(stack, "Machine")
        assert (failed["status"], failed["error"]) == ("FAILED", "ValueError")


@pytest.mark.parametrize(
    ("file", "code"),
    [
        ("app.py", "def handler(event, _):\n    return event['order']['lines'][0]['count'] * 2\n"),
        ("app.mjs", "export const handler = async (event) => event.order.lines.map((line) => line.count * 2);\n"),
        ("app.ts", "export const handler = async ({order}) => order.lines.map((line) => line.count * 2);\n"),
    ],
)
def test_a_made_up_event_has_what_code_in_any_language_reads(tmp_path: Path, file: str, code: str) -> None:
    (tmp_path / file).write_text(code, encoding="utf-8")
    event = Shape()

    mark_reads(
        FunctionSettings("Total", "arn:aws:lambda:us-east-1:123456789012:function:Total", tmp_path, "app.handler"),
        event,
    )

    assert event.example() == {"order": {"lines": [{"count": 1}]}}


def test_a_stub_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    files = {"machine.asl.yaml": POLLING, "stubs/glue/startJobRun.py": "def answer(input):\n    return {}\n"}
    with beside(tmp_path, WITHOUT_STUBS, files) as stack:
        written = [path.name for path in stack.write_stubs()]
        again = stack.write_stubs()

    assert "startJobRun.json" not in written
    assert again == []


def test_stubs_of_every_task_are_written_on_request(tmp_path: Path) -> None:
    """The tests' own template has a task too, so it is served from a copy: stubs are written beside each template."""
    endpoint, theirs = tmp_path / "endpoint", tmp_path / "theirs"
    shutil.copytree(TEMPLATE.parent, endpoint)
    theirs.mkdir()
    (theirs / "template.yaml").write_text(dedent(READER), encoding="utf-8")

    with LocalStack(endpoint / TEMPLATE.name, others=[theirs / "template.yaml"]) as stack:
        written = stack.write_stubs(every=True)

        assert set(written) == {theirs / "stubs/Machine/Read.json", endpoint / "stubs/Workflow/Work.json"}
        assert output(stack, "Machine") == ["text"]


@pytest.mark.parametrize(
    ("rule", "answer"),
    [
        ({"Variable": "$.x.n", "NumericGreaterThan": 5}, {"n": 6}),
        ({"Variable": "$.x.n", "NumericLessThanEquals": 5}, {"n": 5}),
        ({"Variable": "$.x.is_ok", "BooleanEquals": True}, {"is_ok": True}),
        ({"Not": {"Variable": "$.x.s", "StringEquals": "bad"}}, {"s": "bad~"}),
        ({"And": [{"Variable": "$.x.s", "IsPresent": True}, {"Variable": "$.x.s", "StringMatches": "a*"}]}, {"s": "a"}),
        ({"Or": [{"Variable": "$.x.l[0].a", "StringEquals": "b"}]}, {"l": [{"a": "b"}]}),
        ({"Variable": "$.x.n", "NumericEqualsPath": "$.x.m"}, {"n": 1, "m": 1}),
    ],
)
def test_an_answer_takes_the_way_to_a_successful_end(rule: dict[str, Any], answer: dict[str, Any]) -> None:
    shape = Shape()
    definition = {
        "StartAt": "Ask",
        "States": {
            "Ask": {"Type": "Task", "Resource": "arn:aws:states:::x:y", "ResultPath": "$.x", "Next": "Choose"},
            "Choose": {"Type": "Choice", "Choices": [{**rule, "Next": "End"}], "Default": "Fail"},
            "End": {"Type": "Succeed"},
            "Fail": {"Type": "Fail"},
        },
    }

    Examples("arn:aws:states:us-east-1:123456789012:stateMachine:M", lambda _: shape).read(definition)

    assert shape.example() == answer


def test_each_way_to_a_state_is_walked() -> None:
    shapes = dict[str, Shape]()
    ways = [{"Variable": "$.kind", "StringEquals": name, "Next": name} for name in "abcd"]
    ask = {"Type": "Task", "Resource": "arn:aws:states:::x:y", "Next": "End"}
    end = {"Type": "Pass", "Parameters": {"key.$": "$.found.[0].key"}, "End": True}
    definition = {
        "StartAt": "Choose",
        "States": {"Choose": {"Type": "Choice", "Choices": ways}, **dict.fromkeys("abcd", ask), "End": end},
    }
    examples = Examples(
        "arn:aws:states:us-east-1:123456789012:stateMachine:M", lambda task: shapes.setdefault(task.state, Shape())
    )

    examples.read(definition)

    assert {name: one.example() for name, one in shapes.items()} == {
        one: {"found": [{"key": "text"}]} for one in "abcd"
    }
    assert examples.given.example() == {"kind": "a"}
