"""What a lost Region leaves, and how another one takes it over: the steps of docs/restoring.md.

The simulated account has both Regions. Lost means here: the first stack is gone, and nothing of it is read but its
export and the replica of its bucket. What differs from AWS: an export and an import take a moment, not minutes, and a
bucket replicates when the drill says so.
"""

import base64
import gzip
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from stepwire.aws.storage.items import LARGEST_ENDED_HEAD
from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire_local import LocalStack
from stepwire_local.account.engine import ACCOUNT
from stepwire_local.cloudformation.template import parse
from stepwire_local.iam.clients import aws_client
from stepwire_local.operating import account_of
from tests.integration.stacks import ROOT, SIGN_IN, event_of
from tests.server.clients import ModernClient
from tests.template.chosen import OFF
from tests.waiting import until
from tools.game_day.operator import Operator

LOST, NEXT = "us-east-1", "eu-west-1"
SAVED, REPLICA = "exports-of-tasks", "replica-of-results"
TEXTS: Final = {"small": "hello", "large": "a" * (LARGEST_ENDED_HEAD * 2), "in S3": '"' * 100_000}
OWNERS: Final = """
Transform: AWS::Serverless-2016-10-31
Parameters: {Endpoint: {Type: String}}
Resources:
  Parrot:
    Type: AWS::Serverless::StateMachine
    Properties:
      Tags: {"stepwire:endpoint": !Ref Endpoint}
      Definition:
        StartAt: Wait
        States: {Wait: {Type: Wait, SecondsPath: $.seconds, Next: Say}, Say: {Type: Pass, End: true}}
  ParrotTool:
    Type: AWS::SSM::Parameter
    Properties:
      Name: !Sub "/stepwire/${Endpoint}/tools/parrot"
      Type: String
      Value: !Sub |
        name: parrot
        description: Gives its input back.
        state_machine: ${Parrot}
        input_schema: {type: object, properties: {text: {type: string}, seconds: {type: integer, default: 0}}}
"""


@dataclass(frozen=True)
class Person:
    """A caller of a stack, by the claim sub of their token."""

    stack: LocalStack
    sub: str

    @property
    def server(self) -> "Person":
        """What a client sends its requests to."""
        return self

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Let function mcp answer a request of this person."""
        event = event_of(request)
        event["requestContext"]["authorizer"]["jwt"]["claims"] |= {"iss": SIGN_IN["JwtIssuer"], "sub": self.sub}
        response = self.stack.invoke("McpFunction", event)
        return HttpResponse(response["statusCode"], response["body"], response["headers"])


@dataclass(frozen=True)
class Left:
    """What the lost Region has left."""

    salt: str
    tasks: dict[str, str]
    ticket: tuple[str, ...]
    """What operators typed after the export, with the hashes of the callers."""


def client_of(here: LocalStack, sub: str) -> ModernClient:
    """Return a client of a person."""
    return ModernClient(Person(here, sub))


def owners_in(folder: Path) -> Path:
    """Write the template of the state machines, which is deployed in each Region; return its path."""
    (path := folder / "owners.yaml").write_text(OWNERS, encoding="utf-8")
    return path


def stack(owners: Path, region: str, taken_over: dict[str, str] | None = None, **parameters: str) -> LocalStack:
    """Return an endpoint with sign-in in a Region, with the state machines of `owners`."""
    given = {**SIGN_IN, "WaitSeconds": "0", "PollsPerSecond": "0", **OFF, **parameters}
    name = f"stepwire-{region}"
    return LocalStack(
        ROOT / "stack.yaml", others=[owners], name=name, region=region, taken_over=taken_over, parameters=given
    )


def lost(
    owners: Path,
    others: Iterable[str] = (),
    command: Callable[[Operator], tuple[str, ...]] = lambda _operator: (),
) -> Left:
    """Run a stack with tasks of Alice and others, save them, let operators command something, and lose it."""
    with stack(owners, LOST) as here, account_of(here) as account:
        alice = client_of(here, "alice")
        tasks = {name: alice.call("parrot", {"text": text}).id_in() for name, text in TEXTS.items()}
        tasks |= {sub: client_of(here, sub).call("parrot", {"text": sub}).id_in() for sub in others}
        tasks["running"] = alice.call("parrot", {"text": "", "seconds": 3600}).id_in()
        until(lambda: all(alice.task("get", tasks[name]).result["status"] == "completed" for name in TEXTS))
        for sub in others:
            until(lambda sub=sub: client_of(here, sub).task("get", tasks[sub]).result["status"] == "completed")
        exported(here.physical_ids["TasksTable"])
        ticket = command(Operator(here, account))
        replicated(here.physical_ids["LargeResults"])
        return Left(here.outputs["PrincipalSalt"], tasks, ticket)


def exported(table: str) -> None:
    """Export a table to a bucket of the other Region, which needs no more than its point-in-time recovery."""
    aws_client("s3", NEXT).create_bucket(Bucket=SAVED, CreateBucketConfiguration={"LocationConstraint": NEXT})
    dynamodb = aws_client("dynamodb", LOST)
    dynamodb.update_continuous_backups(
        TableName=table, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    )
    arn = f"arn:aws:dynamodb:{LOST}:{ACCOUNT}:table/{table}"
    export = dynamodb.export_table_to_point_in_time(TableArn=arn, S3Bucket=SAVED, S3Prefix="tasks")
    export_arn = export["ExportDescription"]["ExportArn"]
    until(lambda: dynamodb.describe_export(ExportArn=export_arn)["ExportDescription"]["ExportStatus"] == "COMPLETED")


def replicated(bucket: str) -> None:
    """Copy what S3 replicates to a bucket of the other Region."""
    s3 = aws_client("s3", NEXT)
    s3.create_bucket(Bucket=REPLICA, CreateBucketConfiguration={"LocationConstraint": NEXT})
    for one in s3.list_objects_v2(Bucket=bucket).get("Contents", ()):
        s3.copy_object(Bucket=REPLICA, Key=one["Key"], CopySource={"Bucket": bucket, "Key": one["Key"]})


def imported() -> str:
    """Make the table of the export in the other Region, with what an import sets and no more; return its name.

    ImportTable of moto takes the lines of an export apart at quotation marks that are escaped: so this reads the lines.
    """
    dynamodb, s3 = aws_client("dynamodb", NEXT), aws_client("s3", NEXT)
    table = parse(ROOT / "docs" / "assets" / "imported_table.yaml")["Resources"]["TasksTable"]["Properties"]
    dynamodb.create_table(TableName="restored", **table)
    for one in s3.list_objects_v2(Bucket=SAVED)["Contents"]:
        lines = gzip.decompress(s3.get_object(Bucket=SAVED, Key=one["Key"])["Body"].read()).splitlines()
        for line in lines:
            dynamodb.put_item(TableName="restored", Item=plain(json.loads(line)["Item"]))
    return "restored"


def copied(bucket: str) -> None:
    """Copy the replica into the bucket of the new stack."""
    s3 = aws_client("s3", NEXT)
    for one in s3.list_objects_v2(Bucket=REPLICA).get("Contents", ()):
        s3.copy_object(Bucket=bucket, Key=one["Key"], CopySource={"Bucket": REPLICA, "Key": one["Key"]})


def plain(item: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return an item of an export as the SDK takes it: bytes are bytes."""
    return {name: {"B": base64.b64decode(one["B"])} if "B" in one else one for name, one in item.items()}
