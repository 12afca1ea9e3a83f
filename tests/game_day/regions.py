"""What a lost Region leaves, and how another one takes it over: the steps of docs/restoring.md.

The simulated account has both Regions. Lost means here: the first stack is gone, and nothing of it is read but its
export and the replica of its bucket. What differs from AWS: an export and an import take a moment, not minutes, and a
bucket replicates when the drill says so.
"""

import base64
import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from stepwire.aws.storage.items import LARGEST_ENDED_HEAD
from stepwire_local import LocalStack
from stepwire_local.account.engine import ACCOUNT
from stepwire_local.cloudformation.template import parse
from stepwire_local.iam.clients import aws_client
from tests.integration.stacks import ROOT, SIGN_IN, AwsCalls, Deployed
from tests.server.clients import ModernClient
from tests.waiting import until

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
class Left:
    """What the lost Region has left."""

    salt: str
    tasks: dict[str, str]


def owners_in(folder: Path) -> Path:
    """Write the template of the state machines, which is deployed in each Region; return its path."""
    (path := folder / "owners.yaml").write_text(OWNERS, encoding="utf-8")
    return path


def stack(owners: Path, region: str, taken_over: dict[str, str] | None = None, **parameters: str) -> LocalStack:
    given = {**SIGN_IN, "WaitSeconds": "0", "Events": "off", **parameters}
    name = f"stepwire-{region}"
    return LocalStack(
        ROOT / "template.yaml", others=[owners], name=name, region=region, taken_over=taken_over, parameters=given
    )


def lost(owners: Path) -> Left:
    """Run a stack with tasks, save them, and lose it."""
    with stack(owners, LOST) as here:
        client = ModernClient(Deployed(here, AwsCalls()))
        tasks = {name: client.call("parrot", {"text": text}).id_in() for name, text in TEXTS.items()}
        tasks["running"] = client.call("parrot", {"text": "", "seconds": 3600}).id_in()
        until(lambda: all(client.task("get", tasks[name]).result["status"] == "completed" for name in TEXTS))
        exported(here.physical_ids["TasksTable"])
        replicated(here.physical_ids["LargeResults"])
        return Left(here.outputs["PrincipalSalt"], tasks)


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
    """Make the table of the export in the other Region, with the keys and indexes of the template; return its name.

    ImportTable of moto takes the lines of an export apart at quotation marks that are escaped: so this reads the lines.
    """
    dynamodb, s3 = aws_client("dynamodb", NEXT), aws_client("s3", NEXT)
    table: dict[str, Any] = parse(ROOT / "template.yaml")["Resources"]["TasksTable"]["Properties"]
    wanted = {name: table[name] for name in ("AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes")}
    dynamodb.create_table(TableName="restored", BillingMode="PAY_PER_REQUEST", **wanted)
    for one in s3.list_objects_v2(Bucket=SAVED)["Contents"]:
        lines = gzip.decompress(s3.get_object(Bucket=SAVED, Key=one["Key"])["Body"].read()).splitlines()
        for line in lines:
            dynamodb.put_item(TableName="restored", Item=plain(json.loads(line)["Item"]))
    return "restored"


def plain(item: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return an item of an export as the SDK takes it: bytes are bytes."""
    return {name: {"B": base64.b64decode(one["B"])} if "B" in one else one for name, one in item.items()}
