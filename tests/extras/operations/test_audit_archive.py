"""The audit that lasts: which lines reach the bucket, who can remove them, and how Athena reads them."""

import re
from typing import Final

from stepwire_cli.extras.operations.outliving import WHO_DELETES_EARLIER
from tests.docs.audit_schema import COLUMNS
from tests.docs.pages import page
from tests.template.alarms import rings
from tests.template.chosen import ON, STACK, Stack, stack
from tests.template.document import FUNCTION, ROOT, listed, resource, resources, template

PAGE: Final = page(ROOT / "docs/extras/operations.md")
FILTER: Final = "AWS::Logs::SubscriptionFilter"


def archived(**given: str) -> Stack:
    return stack("jwt", **ON | {"AuditArchive": "COMPLIANCE", "AuditRetentionDays": "2555"} | given)


# -------------------------------------------------------------------------------------------------- how Athena reads it


def test_every_member_of_a_line_is_a_column_of_the_table() -> None:
    table = resource("AuditTable").properties["TableInput"]
    columns = {one["Name"]: one["Type"] for one in table["StorageDescriptor"]["Columns"]}

    assert sorted(columns) == sorted([*COLUMNS, "polls", "duration"])
    assert {columns[name] for name in COLUMNS} - {"int", "bigint"} == {"string"}
    assert (columns["audit_version"], columns["at"]) == ("int", "bigint")
    assert table["Parameters"]["projection.enabled"] == "true"


def test_the_names_that_athena_reads_are_lower_case_whatever_the_stack_is_called() -> None:
    """Glue refuses others at the deployment."""
    database = archived().properties("AuditDatabase")["DatabaseInput"]
    table = archived().properties("AuditTable")["TableInput"]

    assert database["Name"] == "stepwire_audit_0a1b2c3d"
    assert table["Name"].islower()
    assert STACK["AWS::StackName"] in database["Description"]
    assert f"FROM {database['Name']}.{table['Name']}" in PAGE.text


def test_the_table_finds_the_days_where_firehose_writes_them() -> None:
    destination = archived().properties("AuditStream")["ExtendedS3DestinationConfiguration"]
    table = archived().properties("AuditTable")["TableInput"]

    place = destination["Prefix"].replace("!{timestamp:yyyy-MM-dd}", "${day}")

    assert table["Parameters"]["storage.location.template"] == f"s3://AuditBucket/{place}"
    assert not destination["ErrorOutputPrefix"].startswith("audit/")


# --------------------------------------------------------------------------------------------------- what reaches it


def audits(function: str) -> bool:
    """Tell whether the code of a function may write lines of the audit."""
    app = (ROOT / "functions" / function / "app.py").read_text(encoding="utf-8")
    (module,) = re.findall(r"^from stepwire\.([\w.]+) import \w+Handler", app, re.MULTILINE)
    code = (ROOT / "layers/stepwire/stepwire" / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
    return "ports_of(" in code or code.count("write_audit_entry") > 1  # beside its import


def test_the_log_of_each_function_that_audits_is_subscribed() -> None:
    folders = {
        one.properties["LoggingConfig"]["LogGroup"]["Ref"]: one.properties["CodeUri"].removeprefix("functions/")
        for one in resources(FUNCTION)
        if "CodeUri" in one.properties
    }

    subscribed = {one.properties["LogGroupName"]["Ref"] for one in resources(FILTER)}

    assert subscribed == {log for log, folder in folders.items() if folder != "metadata" and audits(folder)}
    assert {one.properties["FilterPattern"] for one in resources(FILTER)} == {'{ $.audit = "*" }'}
    assert {str(one.properties["DestinationArn"]) for one in resources(FILTER)} == {
        str({"Fn::GetAtt": ["AuditStream", "Arn"]})
    }


def test_each_line_of_the_logs_becomes_a_line_of_the_archive() -> None:
    destination = archived().properties("AuditStream")["ExtendedS3DestinationConfiguration"]

    steps = destination["ProcessingConfiguration"]["Processors"]

    assert [one["Type"] for one in steps] == ["Decompression", "CloudWatchLogProcessing", "AppendDelimiterToRecord"]
    assert steps[2]["Parameters"] == [{"ParameterName": "Delimiter", "ParameterValue": r"\n"}]


# ------------------------------------------------------------------------------------------------------- who can what


def test_nothing_is_archived_by_default() -> None:
    parts = [one.logical_id for one in resources() if "Audit" in one.logical_id]

    assert len(parts) > 15
    assert [name for name in parts if stack("jwt").has(name)] == []
    assert [name for name in parts if not archived().has(name)] == []


def test_the_archive_is_locked_for_its_own_time_and_outlives_the_stack() -> None:
    bucket, made = resource("AuditBucket"), archived().properties("AuditBucket")

    retention = made["ObjectLockConfiguration"]["Rule"]["DefaultRetention"]

    assert (bucket.body["DeletionPolicy"], bucket.body["UpdateReplacePolicy"]) == ("Retain", "Retain")
    assert (made["ObjectLockEnabled"], made["VersioningConfiguration"]) == (True, {"Status": "Enabled"})
    assert (retention["Mode"], str(retention["Days"])) == ("COMPLIANCE", "2555")
    assert str(made["LifecycleConfiguration"]["Rules"][0]["ExpirationInDays"]) == "2555"
    assert set(made["PublicAccessBlockConfiguration"].values()) == {True}


def test_the_archive_and_what_waits_for_it_are_encrypted_with_the_stack_s_key_or_one_of_aws() -> None:
    waiting = "DeliveryStreamEncryptionConfigurationInput"
    key = "arn:aws:kms:eu-central-1:123456789012:key/0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"

    own, usual = (archived(**given).properties("AuditStream")[waiting] for given in ({"KmsKeyArn": key}, {}))

    assert (own["KeyARN"], usual) == (key, {"KeyType": "AWS_OWNED_CMK"})
    (rule,) = archived(KmsKeyArn=key).properties("AuditBucket")["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule["ServerSideEncryptionByDefault"]["KMSMasterKeyID"] == key


def test_the_command_knows_each_mode_of_object_lock() -> None:
    assert set(WHO_DELETES_EARLIER) == set(template()["Parameters"]["AuditArchive"]["AllowedValues"]) - {"off"}


def test_what_writes_the_archive_can_neither_delete_nor_shorten_it() -> None:
    (policy,) = archived().properties("AuditWriter")["Policies"]

    allowed = {action for one in policy["PolicyDocument"]["Statement"] for action in listed(one["Action"])}

    assert allowed == {
        *("s3:PutObject", "s3:AbortMultipartUpload", "s3:GetBucketLocation"),
        *("s3:ListBucket", "s3:ListBucketMultipartUploads", "logs:PutLogEvents"),
    }


def test_firehose_writes_the_archive_only_for_this_account_which_it_names_as_the_external_id() -> None:
    (trust,) = resource("AuditWriter").properties["AssumeRolePolicyDocument"]["Statement"]

    assert trust["Principal"] == {"Service": "firehose.amazonaws.com"}
    assert trust["Condition"] == {"StringEquals": {"sts:ExternalId": {"Ref": "AWS::AccountId"}}}


def test_firehose_says_why_it_could_not_write_where_the_runbook_looks() -> None:
    """A refused upload is retried for 24 hours, and then its lines are gone."""
    made = archived()
    (policy,) = made.properties("AuditWriter")["Policies"]

    told = made.properties("AuditStream")["ExtendedS3DestinationConfiguration"]["CloudWatchLoggingOptions"]

    assert told == {"Enabled": True, "LogGroupName": "AuditLogs", "LogStreamName": "AuditLogStream"}
    assert made.properties("AuditLogStream") == {"LogGroupName": "AuditLogs"}
    assert "AuditLogs.Arn" in [one["Resource"] for one in policy["PolicyDocument"]["Statement"]]
    assert "$(id AuditLogs)" in (ROOT / "docs/operations.md").read_text(encoding="utf-8")


def test_an_archive_that_is_late_rings_the_alarm() -> None:
    alarm = resource("AuditArchiveAlarm").properties
    hour = 3_600

    assert (alarm["Namespace"], alarm["MetricName"]) == ("AWS/Firehose", "DeliveryToS3.DataFreshness")
    assert [rings(alarm, [age]) for age in (hour, 3 * hour)] == [False, True]
    assert not rings(alarm, []), "nothing was audited"


def test_the_queries_of_the_page_ask_for_columns_that_there_are() -> None:
    queries = PAGE.blocks("sql")
    words = {"select", "from", "where", "and", "group", "by", "order", "desc", "as", "count", "from_unixtime", "limit"}

    named = {
        word
        for query in queries
        for word in re.findall(r"\b[a-z_]+\b", re.sub(r"'[^']*'|\"[^\"]*\"", "", query.lower()))
    }

    assert queries
    assert named - words - {"lines", "times", "moment", "day"} <= set(COLUMNS)
