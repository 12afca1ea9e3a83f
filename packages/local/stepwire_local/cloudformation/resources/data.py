"""Storage: DynamoDB tables, S3 buckets, log groups."""

from typing import Any

from stepwire_local.account.isolation import REGION
from stepwire_local.cloudformation.resources.kinds import (
    NOT_ENFORCED,
    Created,
    Kind,
    Resource,
    World,
    keep,
    named,
    picked,
    typed,
)

_TABLE = (
    "AttributeDefinitions",
    "BillingMode",
    "GlobalSecondaryIndexes",
    "KeySchema",
    "LocalSecondaryIndexes",
    "ProvisionedThroughput",
)


def _table(resource: Resource, world: World) -> Created:
    properties = resource.properties
    old = world.taken_over.get(resource.logical_id)
    name: str = old or properties.get("TableName", world.name(resource))
    stream = properties.get("StreamSpecification")
    settings: dict[str, Any] = {"StreamSpecification": {"StreamEnabled": True, **stream}} if stream else {}
    dynamodb = world.client("dynamodb")
    if old:
        table = dynamodb.update_table(TableName=name, **settings)["TableDescription"]
    else:
        settings |= picked(properties, _TABLE)
        if "ProvisionedThroughput" not in settings:
            settings["BillingMode"] = "PAY_PER_REQUEST"
        table = dynamodb.create_table(TableName=name, **typed(dynamodb, "CreateTable", settings))["TableDescription"]
    if time_to_live := properties.get("TimeToLiveSpecification"):
        dynamodb.update_time_to_live(TableName=name, TimeToLiveSpecification=time_to_live)
    world.tables.append(name)
    streams = {"StreamArn": table["LatestStreamArn"]} if "LatestStreamArn" in table else {}
    return Created(name, {"Arn": table["TableArn"], **streams})


def _bucket(resource: Resource, world: World) -> Created:
    old = world.taken_over.get(resource.logical_id)
    name: str = old or resource.properties.get("BucketName", world.name(resource).lower())
    if not old:
        place = {"CreateBucketConfiguration": {"LocationConstraint": world.region}} if world.region != REGION else {}
        world.client("s3").create_bucket(Bucket=name, **place)
    domain = f"{name}.s3.amazonaws.com"
    regional = f"{name}.s3.{world.region}.amazonaws.com"
    return Created(name, {"Arn": f"arn:aws:s3:::{name}", "DomainName": domain, "RegionalDomainName": regional})


def _log_group(resource: Resource, world: World) -> Created:
    name: str = resource.properties.get("LogGroupName", world.name(resource))
    world.client("logs").create_log_group(logGroupName=name)
    return Created(name, {"Arn": world.arn("logs", f"log-group:{name}:*")})


KINDS = {
    "AWS::DynamoDB::Table": Kind(
        _table,
        served=(*_TABLE, "TableName", "TimeToLiveSpecification", "StreamSpecification"),
        harmless=("DeletionProtectionEnabled", "PointInTimeRecoverySpecification", "SSESpecification"),
        note="tables: expired items stay, or are removed sooner than in AWS; no recovery, no encryption, no throttling",
    ),
    "AWS::S3::Bucket": Kind(
        _bucket,
        served=("BucketName",),
        harmless=("BucketEncryption", "OwnershipControls", "PublicAccessBlockConfiguration", "LifecycleConfiguration"),
    ),
    "AWS::S3::BucketPolicy": Kind(named, harmless=("Bucket", "PolicyDocument"), note=NOT_ENFORCED),
    "AWS::Logs::LogGroup": Kind(
        _log_group,
        served=("LogGroupName",),
        harmless=("RetentionInDays", "KmsKeyId", "LogGroupClass"),
        note="log groups: the output of all functions goes to one file, which `stepwire-local logs` shows",
        update=keep,
    ),
}
