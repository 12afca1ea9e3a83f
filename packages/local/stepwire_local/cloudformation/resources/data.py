"""Storage: DynamoDB tables, S3 buckets, log groups."""

from dataclasses import replace
from typing import Any

from stepwire_local.account.isolation import REGION
from stepwire_local.cloudformation.resources.kinds import (
    NOT_ENFORCED,
    Change,
    Created,
    Kind,
    Resource,
    World,
    keep,
    named,
    picked,
    typed,
)
from stepwire_local.cloudformation.resources.notifications import notify
from stepwire_local.errors import TemplateError
from stepwire_local.stubs.owners import Owned
from stepwire_local.stubs.owners import register as own_stubs

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
    own_stubs(f"arn:aws:s3:::{name}", Owned(world.stubs, (resource.logical_id, name)))
    _configure(resource, name, world)
    domain = f"{name}.s3.amazonaws.com"
    regional = f"{name}.s3.{world.region}.amazonaws.com"
    return Created(name, {"Arn": f"arn:aws:s3:::{name}", "DomainName": domain, "RegionalDomainName": regional})


def _configure(resource: Resource, name: str, world: World) -> None:
    if versioning := resource.properties.get("VersioningConfiguration"):
        world.client("s3").put_bucket_versioning(Bucket=name, VersioningConfiguration=versioning)
    if "NotificationConfiguration" in resource.properties:
        notify(resource, name, world)


def _changed_bucket(change: Change, world: World) -> Created:
    if change.before.properties.get("BucketName") != change.after.properties.get("BucketName"):
        raise TemplateError(f"{change.after.logical_id}: its name changes by a restart only.")
    configured: dict[str, Any] = {
        "NotificationConfiguration": {},
        **change.after.properties,
    }  # one that is gone is none
    _configure(replace(change.after, properties=configured), change.created.reference, world)
    return change.created


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
        served=("BucketName", "NotificationConfiguration", "VersioningConfiguration"),
        harmless=(
            "BucketEncryption",
            "CorsConfiguration",
            "LifecycleConfiguration",
            "OwnershipControls",
            "PublicAccessBlockConfiguration",
        ),
        update=_changed_bucket,
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
