"""Event source mappings in a template: invalid ones, unsupported properties, and those that SAM creates."""

from pathlib import Path

import pytest
import yaml

from packages.local.tests.changes import TEMPLATE, Table
from stepwire_local import LocalStack, TemplateError


class Bench:
    """Changes the template of these tests, and returns the result."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "template.yaml"
        text = TEMPLATE.read_text(encoding="utf-8").replace("CodeUri: listener", f"CodeUri: {TEMPLATE.parent}/listener")
        self._text = text

    def with_mapping(self, before: str, now: str, **parameters: str) -> LocalStack:
        assert before in self._text
        self._path.write_text(self._text.replace(before, now), encoding="utf-8")
        return LocalStack(self._path, parameters=parameters)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        ("StartingPosition: TRIM_HORIZON", "StartingPosition: AT_TIMESTAMP", "StartingPosition must be one of"),
        ("FunctionName: !Ref Listener", "FunctionName: nobody", "nobody is not a function"),
        ("BatchSize: 10", "BatchSize: 10001", "BatchSize is 10001"),
        ("Pattern: !Ref Filter", "Pattern: '{'", "is not a pattern: "),
        ("Pattern: !Ref Filter", """Pattern: '{"eventName": "REMOVE"}'""", "is not a pattern: "),
        ("Pattern: !Ref Filter", """Pattern: '{"eventName": [{"like": "R%"}]}'""", "an unknown operator: like"),
        ("EventSourceArn: !GetAtt Table.StreamArn", "EventSourceArn: !GetAtt Table.Nothing", "no attribute Nothing"),
        ("      StreamSpecification: {StreamViewType: !Ref View}\n", "", "no attribute StreamArn"),
        (
            "EventSourceArn: !GetAtt Table.StreamArn",
            "EventSourceArn: arn:aws:dynamodb:us-east-1:123456789012:table/other/stream/x",
            "is not the stream of a table in this template",
        ),
    ],
)
def test_an_invalid_mapping_stops_the_start(bench: Bench, before: str, now: str, words: str) -> None:
    with pytest.raises(TemplateError, match=words), bench.with_mapping(before, now):
        pass


@pytest.mark.parametrize(
    ("before", "now", "note"),
    [
        (
            "BatchSize: 10",
            "ParallelizationFactor: 2",
            "Mapping: AWS::Lambda::EventSourceMapping ignores ParallelizationFactor",
        ),
        (
            "EventSourceArn: !GetAtt Table.StreamArn",
            "EventSourceArn: arn:aws:kinesis:us-east-1:123456789012:stream/readings",
            "Mapping: events of the service kinesis do not arrive",
        ),
        (
            "Destination: !GetAtt Lost.Arn",
            "Destination: arn:aws:s3:::lost",
            "Mapping: failed records do not go to arn:aws:s3:::lost: only queues and topics are served",
        ),
        (
            "Pattern: !Ref Filter",
            """Pattern: '{"dynamodb": {"NewImage": {"n": {"N": [{"numeric": ["=", 1]}]}}}}'""",
            "Mapping: numeric never matches: stream records have numbers as strings",
        ),
    ],
)
def test_an_unsupported_property_of_a_mapping_is_reported(bench: Bench, before: str, now: str, note: str) -> None:
    with bench.with_mapping(before, now) as stack:
        assert note in stack.not_served


def test_a_disabled_mapping_delivers_nothing(bench: Bench) -> None:
    with bench.with_mapping("BatchSize: 10", "Enabled: false") as stack:
        table = Table(stack)
        table.put("a")

        assert table.batches() == []


def test_a_stream_event_of_a_sam_function_becomes_a_mapping(tmp_path: Path) -> None:
    template = yaml.safe_load(_SAM.replace("CODE", f"{TEMPLATE.parent}/listener"))
    path = tmp_path / "template.yaml"
    path.write_text(yaml.safe_dump(template), encoding="utf-8")

    with LocalStack(path) as stack:
        table = Table(stack)
        table.put_together("a", "poison")

        assert table.named() == [["a", "poison"], ["poison"]]
        assert len(table.letters()) == 1


def test_a_batch_that_is_lost_is_said_with_the_function_and_the_cause(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    with bench.with_mapping(
        "DestinationConfig: {OnFailure: {Destination: !GetAtt Lost.Arn}}", "", Reports="no"
    ) as stack:
        table = Table(stack)
        table.put("poison")
        stack.drain()

    (line,) = [one for one in caplog.messages if "lost" in one]
    assert line == (
        f"A batch is lost: Listener did not process 1 record of {table.name} (RetryAttemptsExhausted), "
        "and its event source has no OnFailure destination. RuntimeError: poison"
    )


_SAM = """
Transform: AWS::Serverless-2016-10-31
Resources:
  Table:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}]
      KeySchema: [{AttributeName: pk, KeyType: HASH}]
      StreamSpecification: {StreamViewType: KEYS_ONLY}
  Listener:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: CODE
      Handler: app.handler
      Runtime: python3.13
      Environment: {Variables: {QUEUE_URL: {Ref: Seen}, REPORTS: "yes"}}
      Events:
        Changes:
          Type: DynamoDB
          Properties:
            Stream: {"Fn::GetAtt": [Table, StreamArn]}
            StartingPosition: LATEST
            BatchSize: 10
            MaximumRetryAttempts: 1
            FunctionResponseTypes: [ReportBatchItemFailures]
            FilterCriteria: {Filters: [{Pattern: '{"eventName": ["INSERT"]}'}]}
            DestinationConfig: {OnFailure: {Type: SQS, Destination: {"Fn::GetAtt": [Lost, Arn]}}}
  Seen: {Type: AWS::SQS::Queue}
  Lost: {Type: AWS::SQS::Queue}
Outputs:
  Table: {Value: {Ref: Table}}
  Seen: {Value: {Ref: Seen}}
  Lost: {Value: {Ref: Lost}}
"""
