"""The trial of a takeover: docs/restoring.md from the export to the answer, in one Region."""

import base64
import gzip
import json
import re
from typing import Any, Final

from stepwire_cli.deployment.stack import Readiness, Stack, described
from tests.docs.pages import ROOT, page
from tools.first_run.account import Account, Failed
from tools.first_run.trial import Seen, so

IMPORTED: Final = ROOT / "docs/assets/imported_table.yaml"
_CREATION: Final = re.compile(r"--table-creation-parameters '(\{.*?\})'\)", re.DOTALL)


def creation(table: str) -> dict[str, Any]:
    """Return the parameters with which the page imports a table."""
    (found,) = _CREATION.findall(page(ROOT / "docs/restoring.md").text)
    return json.loads(found.replace("'$TABLE'", table))


def restore(account: Account) -> Seen:
    """Export the table, import it, deploy an endpoint over it with the old salt, and read an old task there."""
    stack, table = account.standing(), account.name("tasks")
    task = account.called(account.serving())
    began = account.clock.now()
    prefix = _exported(account, account.resource(stack, "TasksTable"))
    exported = account.clock.now()
    items = _imported(account, table, prefix)
    imported = account.clock.now()
    over = account.deploy(
        _taken_over(account, table).name, account.deployer(), PrincipalSalt=stack.outputs["PrincipalSalt"]
    )
    owned = account.resource(over, "TasksTable")
    found, lacking = account.ended(account.served(over), task), _lacking(account, owned)
    minutes = [f"{(end - start) / 60:.1f}" for start, end in ((began, exported), (exported, imported))]
    return so(
        owned == table and found.get("status") == "completed" and not lacking,
        f"export {minutes[0]} and import of {items} items {minutes[1]} minutes; the deployment "
        f"{'keeps' if owned == table else 'replaces'} the imported table; the task of before is "
        f"{found.get('status', 'unknown')} there; the table lacks {', '.join(lacking) or 'nothing'}",
    )


def _exported(account: Account, table: str) -> str:
    """Export a table into the bucket, and return the prefix of its data."""
    arn = account.calls.call("dynamodb", "DescribeTable", TableName=table)["Table"]["TableArn"]
    export = account.calls.call(
        "dynamodb", "ExportTableToPointInTime", TableArn=arn, S3Bucket=account.bucket, S3Prefix="tasks"
    )["ExportDescription"]["ExportArn"]

    def ended() -> Any:
        found = account.calls.call("dynamodb", "DescribeExport", ExportArn=export)["ExportDescription"]
        return found if found["ExportStatus"] != "IN_PROGRESS" else None

    found = account.clock.until(ended, 30, "the export ends")
    if found["ExportStatus"] != "COMPLETED":
        raise Failed(f"the export: {found.get('FailureMessage', found['ExportStatus'])}")
    prefix = f"tasks/AWSDynamoDB/{export.rpartition('/')[2]}/data/"
    if account.emulated:
        _write_what_an_export_would(account, table, prefix)
    return prefix


def _write_what_an_export_would(account: Account, table: str, prefix: str) -> None:
    """Write the items of a table as DynamoDB exports them: the emulator says that it has, and writes nothing."""
    pages = account.calls.table_pages("Scan", TableName=table, ConsistentRead=True)
    lines = [json.dumps({"Item": item}, default=_binary) for one in pages for item in one["Items"]]
    body = gzip.compress("\n".join(lines).encode())
    account.calls.call("s3", "PutObject", Bucket=account.bucket, Key=f"{prefix}items.json.gz", Body=body)


def _binary(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _imported(account: Account, table: str, prefix: str) -> int:
    """Import the data as a table, and return how many items it has."""
    account.journal.will_make("table", table)
    arn = account.calls.call(
        "dynamodb", "ImportTable", S3BucketSource={"S3Bucket": account.bucket, "S3KeyPrefix": prefix},
        InputFormat="DYNAMODB_JSON", InputCompressionType="GZIP", TableCreationParameters=creation(table),
    )["ImportTableDescription"]["ImportArn"]  # fmt: skip

    def ended() -> Any:
        found = account.calls.call("dynamodb", "DescribeImport", ImportArn=arn)["ImportTableDescription"]
        return found if found["ImportStatus"] != "IN_PROGRESS" else None

    found = account.clock.until(ended, 60, "the import ends")
    if found["ImportStatus"] != "COMPLETED" or found.get("ErrorCount"):
        raise Failed(f"the import: {found.get('FailureMessage', found['ImportStatus'])}")
    return int(found.get("ImportedItemCount", 0))


def _taken_over(account: Account, table: str) -> Stack:
    """Make the stack that owns the table."""
    name, change = account.name("restored"), "take-over"
    account.journal.will_make("endpoint", name)
    one = {"ResourceType": "AWS::DynamoDB::Table", "LogicalResourceId": "TasksTable"}
    account.calls.call(
        "cloudformation", "CreateChangeSet", StackName=name, ChangeSetName=change, ChangeSetType="IMPORT",
        TemplateBody=IMPORTED.read_text(encoding="utf-8"),
        ResourcesToImport=[{**one, "ResourceIdentifier": {"TableName": table}}],
    )  # fmt: skip

    def is_ready() -> bool:
        found = account.calls.call("cloudformation", "DescribeChangeSet", StackName=name, ChangeSetName=change)
        if found["Status"] == "FAILED":
            raise Failed(f"the import into a stack: {found.get('StatusReason')}")
        return found["Status"] == "CREATE_COMPLETE"

    account.clock.until(is_ready, 5, "CloudFormation computes the import")
    account.calls.call("cloudformation", "ExecuteChangeSet", StackName=name, ChangeSetName=change)

    def settled() -> Stack | None:
        found = described(account.calls, name)
        return None if found.readiness in (Readiness.BUSY, Readiness.ABSENT) else found

    found = account.clock.until(settled, 10, "the stack owns the table")
    if found.status != "IMPORT_COMPLETE":
        raise Failed(f"the import into a stack: {account.why(name)}")
    return found


def _lacking(account: Account, table: str) -> list[str]:
    """Return what an import does not set and a deployment must."""
    described_table = account.calls.call("dynamodb", "DescribeTable", TableName=table)["Table"]
    ttl = account.calls.call("dynamodb", "DescribeTimeToLive", TableName=table)["TimeToLiveDescription"]
    backups = account.calls.call("dynamodb", "DescribeContinuousBackups", TableName=table)[
        "ContinuousBackupsDescription"
    ]
    has = {
        "the stream": described_table.get("StreamSpecification", {}).get("StreamViewType") == "NEW_AND_OLD_IMAGES",
        "the time to live": ttl.get("TimeToLiveStatus") in {"ENABLED", "ENABLING"},
        "recovery": backups.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus") == "ENABLED",
    }
    return [what for what, is_there in has.items() if not is_there]
