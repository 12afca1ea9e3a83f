"""What an operator sees: every metric on the dashboard or in an alarm has data, and every alarm has its runbook."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from stepwire.audit import AuditAction, AuditEntry, EndSource
from stepwire.aws.audit_log import NAMESPACE, NO_TOOL, write_audit_entry
from stepwire.principal import principal_of
from stepwire_local.cloudformation.intrinsics import resolve
from stepwire_local.cloudformation.template import load
from tests.docs.audit_schema import ACTIONS, actions_of
from tests.docs.pages import anchor_in_the_site, anchor_of
from tests.extras import parts, parts_of_the_kit
from tests.template.chosen import stack
from tests.template.document import ROOT, Resource, listed, references, resource, resources, template

STACK: Final = "the-stack"
OF_THE_LOG: Final = f"Stepwire/{STACK}"
# This alarm rolls back releases and is tested with them; only its runbook is tested here.
OF_RELEASES: Final = "McpErrorsAlarm"
PAGE: Final = ROOT / "docs" / "operations.md"
DEFAULT_PAGE: Final = template()["Parameters"]["RunbooksUrl"]["Default"]
LONGEST_DESCRIPTION: Final = 1_024  # characters, of an alarm
PROCEDURES: Final = ("Replay a dead letter", "A task hangs, here is its id")
HURT: Final = r"[Nn]obody is hurt|are not hurt|hurt now|is hurt,|wait .*longer"
MAY_WAIT: Final = r"can\s+wait\s+until\s+morning|[Dd]o not wait|at once"
OF_EXTRAS: Final = parts("seen")
# These are there with parameters of their own, whatever Alarms says.
WITH_PARAMETERS: Final = {name: condition for part in OF_EXTRAS for name, condition in part.ALARMS.items()}
RING_WITHOUT_DATA: Final = {name for part in OF_EXTRAS for name in part.RING_WITHOUT_DATA}
ALARMS: Final = [alarm for alarm in resources("AWS::CloudWatch::Alarm") if alarm.logical_id != OF_RELEASES]

# The AWS metrics that are used here, and the dimensions that each has.
OF_AWS: Final = {
    # https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-metrics.html
    **{("AWS/ApiGateway", name): {"ApiId"} for name in ("4xx", "5xx", "Count", "IntegrationLatency", "Latency")},
    # https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html
    **{("AWS/DynamoDB", f"Consumed{way}CapacityUnits"): {"TableName"} for way in ("Read", "Write")},
    **{("AWS/DynamoDB", f"{way}ThrottleEvents"): {"TableName"} for way in ("Read", "Write")},
    ("AWS/DynamoDB", "SystemErrors"): {"TableName", "Operation"},
    # https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-monitoring.html
    **{("AWS/Events", f"Invocations{what}ToDlq"): {"RuleName"} for what in ("Sent", "FailedToBeSent")},
    # https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html
    **{("AWS/Lambda", name): {"FunctionName"} for name in ("Duration", "Errors", "IteratorAge", "Throttles")},
    **{("AWS/Lambda", name): {"FunctionName"} for name in ("DeadLetterErrors", "DestinationDeliveryFailures")},
    # https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible"): {"QueueName"},
    **{metric: dimensions for part in OF_EXTRAS for metric, dimensions in part.METRICS.items()},
}

# The resource type and attribute that each dimension names.
KIND_OF_DIMENSION: Final = {
    "ApiId": "AWS::ApiGatewayV2::Api",
    "FunctionName": "AWS::Serverless::Function",
    "QueueName": "AWS::SQS::Queue",
    "RuleName": "AWS::Events::Rule",
    "TableName": "AWS::DynamoDB::Table",
    **{dimension: kind for part in OF_EXTRAS for dimension, kind in part.DIMENSIONS.items()},
}


class Names:
    """Resolves the template: a resource is its logical id, an attribute that with the attribute's name."""

    def __init__(self, **known: str) -> None:
        self._known = {"AWS::StackName": STACK, "AWS::Region": "eu-central-1", **known}

    def reference(self, name: str) -> str:
        return self._known.get(name, name)

    def attribute(self, name: str, attribute: str) -> str:
        return f"{name}.{attribute}"

    def imported(self, name: str) -> str:
        return name

    def mapped(self, name: str, key: str, attribute: str) -> str:
        return f"{name}.{key}.{attribute}"

    def condition(self, name: str) -> bool:
        return True


class ByDefault(Names):
    """Resolves the template as the defaults of its parameters are."""

    def condition(self, name: str) -> bool:
        return stack("iam").condition(name)


@dataclass(frozen=True)
class Asked:
    """A metric that an alarm or a widget uses."""

    namespace: str
    name: str
    dimensions: frozenset[str]
    values: frozenset[tuple[str, str]]
    """The dimensions that are set; the others are searched for."""


def resolved(found: Resource, names: Names | None = None) -> dict[str, Any]:
    """Return the properties of a resource, by default with everything switched on."""
    return resolve(found.properties, names or Names())


def widgets(kind: str) -> list[dict[str, Any]]:
    (dashboard,) = resources("AWS::CloudWatch::Dashboard")
    body = json.loads(resolved(dashboard)["DashboardBody"])
    return [widget["properties"] for widget in body["widgets"] if widget["type"] == kind]


def asked_by_expression(text: str) -> Iterator[Asked]:
    for schema, terms in re.findall(r"SEARCH\('\{([^}]+)\} ([^']+)'", text):
        namespace, *dimensions = schema.split(",")
        values = dict(re.findall(r'(\w+)="([^"]+)"', terms))
        yield asked(namespace, values.pop("MetricName"), dimensions, values)
    for name, schema, terms in re.findall(r"SELECT \w+\((\w+)\) FROM SCHEMA\(([^)]+)\) WHERE (.+)", text):
        namespace, *dimensions = [part.strip(' "') for part in schema.split(",")]
        yield asked(namespace, name, dimensions, dict(re.findall(r"(\w+) = '([^']+)'", terms)))


def asked(namespace: str, name: str, dimensions: list[str], values: dict[str, str]) -> Asked:
    return Asked(namespace, name, frozenset(dimensions), frozenset(values.items()))


def asked_by_alarm(alarm: Resource) -> Iterator[Asked]:
    properties = resolved(alarm)
    stats = [query["MetricStat"]["Metric"] for query in properties.get("Metrics", []) if "MetricStat" in query]
    for metric in stats or [one for one in (properties,) if "MetricName" in one]:
        values = {dimension["Name"]: dimension["Value"] for dimension in metric.get("Dimensions", [])}
        yield asked(metric["Namespace"], metric["MetricName"], list(values), values)
    for query in properties.get("Metrics", []):
        yield from asked_by_expression(query.get("Expression", ""))


def asked_by_widget(widget: dict[str, Any]) -> Iterator[Asked]:
    rows: list[list[Any]] = widget["metrics"]
    for first, *rest in rows:
        if "expression" in first:
            yield from asked_by_expression(first["expression"])
        else:
            name, *pairs = [part for part in rest if isinstance(part, str)]
            values = dict(zip(pairs[::2], pairs[1::2], strict=True))
            yield asked(first, name, list(values), values)


def everything_asked() -> list[Asked]:
    of_alarms = [one for alarm in ALARMS for one in asked_by_alarm(alarm)]
    of_widgets = [one for widget in widgets("metric") for one in asked_by_widget(widget)]
    return list(dict.fromkeys([*of_alarms, *of_widgets]))


def counted_in_the_log() -> set[str]:
    """Return the metrics that filters create from the functions' logs."""
    made = [resolved(one)["MetricTransformations"] for one in resources("AWS::Logs::MetricFilter")]
    return {metric["MetricName"] for metrics in made for metric in metrics if metric["MetricNamespace"] == OF_THE_LOG}


def lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Write one entry of each kind, as the functions of the stack do, and return the lines."""
    variables = resolve(template()["Globals"]["Function"]["Environment"]["Variables"], Names())
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", variables["POWERTOOLS_SERVICE_NAME"])
    monkeypatch.setenv("TOOL_METRICS", "on")
    owner = principal_of(("jwt", "https://issuer.example", "alice"), "a stack")
    for action in ACTIONS:
        tool = None if action is AuditAction.REFUSED else "a tool"
        for outcome in ("completed", "completed_with_error", "failed", "cancelled"):
            write_audit_entry(AuditEntry(action, owner, tool, "an id", outcome, timedelta(seconds=1), EndSource.EVENT))
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


# ---------------------------------------------------------------------------------------------- what is asked is there


@pytest.mark.parametrize("one", everything_asked(), ids=lambda one: f"{one.namespace} {one.name}")
def test_every_metric_that_is_shown_is_counted_by_aws_or_by_us(
    one: Asked, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if one.namespace == OF_THE_LOG:
        assert one.name in counted_in_the_log()
        return
    if one.namespace != NAMESPACE:
        assert OF_AWS[one.namespace, one.name] == one.dimensions
        return

    audited = lines(capsys, monkeypatch)
    for part in parts("handlers"):
        part.count()
    written = [
        (counted["Namespace"], metric["Name"], frozenset(counted["Dimensions"][0]), line)
        for line in [*audited, *map(json.loads, capsys.readouterr().out.splitlines())]
        for counted in line["_aws"]["CloudWatchMetrics"]
        for metric in counted["Metrics"]
    ]

    matching = [line for *schema, line in written if schema == [one.namespace, one.name, one.dimensions]]
    assert any(all(line[dimension] == value for dimension, value in one.values) for line in matching)


def test_every_metric_that_we_count_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = {
        metric["Name"]
        for line in lines(capsys, monkeypatch)
        for counted in line["_aws"]["CloudWatchMetrics"]
        for metric in counted["Metrics"]
    }

    looked_at = {one.name for one in everything_asked() if one.namespace == NAMESPACE}

    # These are questions for the log: who fetched a result, who cancelled, which client resumes a response, what is
    # retried, what an operator continued, and all that extras do. Refusals are shown as a metric of the log, which
    # needs no MetricsDashboard=tools.
    of_the_log = {"Retrieved", "CancelRequests", "Primed", "Resumed", "Retried", "FollowedUp", "Refused"}
    assert counted - looked_at == of_the_log | {one.metric for one in actions_of(*parts_of_the_kit("audit"))}


@pytest.mark.parametrize("one", everything_asked(), ids=lambda one: f"{one.namespace} {one.name}")
def test_every_metric_belongs_to_this_stack(one: Asked) -> None:
    values = dict(one.values)

    if one.namespace == OF_THE_LOG:
        return  # the namespace belongs to this stack
    if one.namespace == NAMESPACE:
        assert values.pop("service") == STACK
        assert set(values.values()) <= {NO_TOOL}
        return

    assert values
    for dimension, value in values.items():
        assert resource(value.partition(".")[0]).kind == KIND_OF_DIMENSION[dimension]


@pytest.mark.parametrize("widget", widgets("log"), ids=lambda widget: widget["title"])
def test_every_log_query_uses_fields_that_are_logged(
    widget: dict[str, Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Lambda's own log records: https://docs.aws.amazon.com/lambda/latest/dg/telemetry-schema-reference.html
    of_lambda = {"type", "record.metrics.initDurationMs", "record.metrics.restoreDurationMs"}
    of_ours = {name for line in lines(capsys, monkeypatch) for name in line}
    # The line of function catalog about a refused tool (tests/unit/aws/test_catalog_function.py).
    of_catalog = {"message", "tool", "parameter", "reason", "serves_previous", "timestamp"}
    words = {
        "latest",
        "max",
        "SOURCE",
        "filter",
        "in",
        "like",
        "stats",
        "count",
        "sort",
        "desc",
        "as",
        "by",
        "bin",
        "pct",
        "fields",
        "coalesce",
    }

    source, query = widget["query"].split(" | ", 1)
    named = set(re.findall(r"as (\w+)", query))
    fields = set(re.findall(r"\b[a-zA-Z][\w.]*", re.sub("'[^']*'", "", query))) - words - named

    assert resource(source.split("'")[1]).kind == "AWS::Logs::LogGroup"
    assert fields
    assert fields <= of_ours | of_lambda | (of_catalog if "CatalogLogs" in source else set())


# ------------------------------------------------------------------------------------------------------- the dashboard


def test_nothing_on_the_dashboard_covers_anything_else() -> None:
    (dashboard,) = resources("AWS::CloudWatch::Dashboard")
    body = json.loads(resolved(dashboard)["DashboardBody"])

    cells = [
        (x, y)
        for widget in body["widgets"]
        for x in range(widget["x"], widget["x"] + widget["width"])
        for y in range(widget["y"], widget["y"] + widget["height"])
    ]

    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24


def test_everything_that_the_dashboard_refers_to_exists() -> None:
    (dashboard,) = resources("AWS::CloudWatch::Dashboard")

    known = {found.logical_id for found in resources()}

    assert references(dashboard.properties) <= known
    assert not re.findall(r"\$\{[^!]", resolved(dashboard)["DashboardBody"].replace("${PROP", ""))


def test_every_alarm_is_on_the_dashboard() -> None:
    (shown,) = widgets("alarm")

    assert sorted(shown["alarms"]) == sorted(f"{alarm.logical_id}.Arn" for alarm in ALARMS)


def test_dashboards_of_one_stack_name_in_two_regions_have_different_names() -> None:
    (dashboard,) = resources("AWS::CloudWatch::Dashboard")

    assert resolved(dashboard)["DashboardName"] == f"{STACK}-eu-central-1"


# ---------------------------------------------------------------------------------------------------------- the alarms


@pytest.mark.parametrize("alarm", ALARMS, ids=lambda alarm: alarm.logical_id)
def test_an_alarm_notifies_the_topic(alarm: Resource) -> None:
    properties = alarm.properties

    told = {"Fn::If": ["HasAlarmTopic", [{"Ref": "AlarmTopicArn"}], {"Ref": "AWS::NoValue"}]}
    assert (properties["AlarmActions"], properties["OKActions"]) == (told, told)
    silence = "breaching" if alarm.logical_id in RING_WITHOUT_DATA else "notBreaching"
    assert properties["TreatMissingData"] == silence


@pytest.mark.parametrize("page", [DEFAULT_PAGE, "https://docs.example.com/operations/"])
@pytest.mark.parametrize("alarm", [*ALARMS, resource(OF_RELEASES)], ids=lambda alarm: alarm.logical_id)
def test_the_text_of_an_alarm_leads_to_its_runbook(alarm: Resource, page: str) -> None:
    text = resolve(alarm.properties, Names(RunbooksUrl=page))["AlarmDescription"]

    found = re.fullmatch(r".+\. Runbook: (\S+)#(\S+)", text)
    assert found, text
    assert found[1] == page
    assert found[2] in {anchor_of(name) for name in runbooks() if name == alarm.logical_id}
    assert found[2] in {anchor_in_the_site(name) for name in runbooks() if name == alarm.logical_id}
    assert len(text) <= LONGEST_DESCRIPTION


# -------------------------------------------------------------------------------------------- which alarms there are


def metrics_of(alarm: Resource, names: Names) -> list[str]:
    """Return the metrics that CloudWatch charges an alarm for, or how many a query may find."""
    properties = resolved(alarm, names)
    queries = properties.get("Metrics", [{"MetricStat": {"Metric": properties}}])
    return [query["MetricStat"]["Metric"]["MetricName"] for query in queries if "MetricStat" in query]


def of_the_page(heading: str) -> list[list[str]]:
    """Return the rows of the first table below a heading of the page Operations."""
    _, _, text = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    rows = [line for line in text.split("\n## ")[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


def alarms_in(cell: str) -> set[str]:
    return set(re.findall(r"\[(\w+Alarm)\]", cell))


ESSENTIAL: Final = {alarm.logical_id for alarm in ALARMS if "Condition" not in alarm.body} | {OF_RELEASES}


def test_an_alarm_that_is_not_there_by_default_is_in_the_stack_with_all() -> None:
    others = [alarm for alarm in ALARMS if alarm.logical_id not in ESSENTIAL | WITH_PARAMETERS.keys()]

    assert {alarm.body["Condition"] for alarm in others} == {"HasAllAlarms"}
    assert {name: resource(name).body["Condition"] for name in WITH_PARAMETERS} == WITH_PARAMETERS
    assert not stack("iam").condition("HasAllAlarms")
    assert stack("iam", Alarms="all").condition("HasAllAlarms")


def test_every_fault_rings_an_essential_alarm_and_every_alarm_stands_for_a_fault() -> None:
    """The page lists the faults, what rings by default, and what rings besides with Alarms=all."""
    rows = of_the_page("What rings, and for what")

    by_default, besides = ([alarms_in(row[column]) for row in rows] for column in (1, 2))

    silent = [rung for ringing, rung in zip(by_default, besides, strict=True) if not ringing]
    assert set[str]().union(*silent) == WITH_PARAMETERS.keys(), rows
    assert set().union(*by_default) == ESSENTIAL
    assert {alarm.logical_id for alarm in ALARMS} - ESSENTIAL <= set().union(*besides)


def test_no_essential_alarm_is_a_query_because_its_price_grows_with_the_metrics_that_it_finds() -> None:
    for name in ESSENTIAL:
        queries = [query for query in resolved(resource(name)).get("Metrics", []) if "MetricStat" not in query]

        assert not any("SELECT" in query["Expression"] or "SEARCH" in query["Expression"] for query in queries)
        assert metrics_of(resource(name), ByDefault())


def test_no_essential_alarm_needs_the_metrics_of_tools() -> None:
    asked_for = {one.namespace for name in ESSENTIAL for one in asked_by_alarm(resource(name))}

    assert asked_for <= {OF_THE_LOG, *(namespace for namespace, _ in OF_AWS)}


@pytest.mark.parametrize(
    ("page", "is_taken"),
    [
        (DEFAULT_PAGE, True),
        ("https://docs.example.com/stepwire/operations/", True),
        ("https://git.example.com/team/stepwire/-/blob/v1/docs/operations.md?plain=1", True),
        ("http://docs.example.com/operations/", False),
        ("https://docs.example.com/operations/#replay", False),
        ("https://docs.example.com/a page", False),
        ("", False),
    ],
)
def test_the_page_of_the_runbooks_is_a_url_without_a_heading(page: str, is_taken: bool) -> None:
    pattern = template()["Parameters"]["RunbooksUrl"]["AllowedPattern"]

    assert (re.fullmatch(pattern, page) is not None) is is_taken


READ: Final = {
    name
    for mapping in resources("AWS::Lambda::EventSourceMapping")
    for name in references(mapping.properties["EventSourceArn"])
}
"""What functions read."""
NOT_READ: Final = [queue for queue in resources("AWS::SQS::Queue") if queue.logical_id not in READ]


@pytest.mark.parametrize("queue", NOT_READ, ids=lambda queue: queue.logical_id)
def test_every_queue_that_no_function_reads_has_an_alarm_on_the_first_message(queue: Resource) -> None:
    waiting = {"MetricName": "ApproximateNumberOfMessagesVisible", "Threshold": 0}

    ringing = [
        alarm.logical_id
        for alarm in ALARMS
        if waiting.items() <= alarm.properties.items()
        and alarm.properties["ComparisonOperator"] == "GreaterThanThreshold"
        and references(alarm.properties["Dimensions"]) == {queue.logical_id}
    ]

    assert len(ringing) == 1


def test_every_function_that_is_always_there_is_watched_for_throttles() -> None:
    functions = {one.logical_id for one in resources("AWS::Serverless::Function") if "Condition" not in one.body}

    # An operator sees that a command is throttled, and it is repeated.
    commanded = {"OperatorFunction"}
    assert references(resource("ThrottlesAlarm").properties["Metrics"]) == functions - commanded


def test_every_rule_with_a_dead_letter_queue_is_watched_for_lost_events() -> None:
    rules = {
        one.logical_id
        for one in resources("AWS::Events::Rule")
        if "Condition" not in one.body and "DeadLetterConfig" in json.dumps(one.properties["Targets"])
    }

    assert rules < references(resource("LostEventsAlarm").properties["Metrics"])


def test_the_latency_alarm_is_above_the_longest_wait_and_below_the_function_timeout() -> None:
    longest_wait = template()["Parameters"]["WaitSeconds"]["MaxValue"] * 1000

    threshold = resource("LatencyAlarm").properties["Threshold"]

    assert longest_wait < threshold < resource("McpFunction").properties["Timeout"] * 1000


def test_no_alarm_has_more_metrics_than_cloudwatch_allows() -> None:
    sizes = [len(listed(alarm.properties.get("Metrics") or [])) for alarm in ALARMS]

    assert max(sizes) <= 10


# -------------------------------------------------------------------------------------------------------- the runbooks


def runbooks() -> dict[str, str]:
    """Return the text of each runbook by its alarm."""
    text = PAGE.read_text(encoding="utf-8")
    return {part.split("\n", 1)[0].strip(): part for part in re.split(r"^### ", text, flags=re.MULTILINE)[1:]}


def test_every_alarm_has_a_runbook_and_every_runbook_an_alarm() -> None:
    assert sorted(runbooks()) == sorted([OF_RELEASES, *(alarm.logical_id for alarm in ALARMS)])


@pytest.mark.parametrize("name", runbooks())
def test_a_runbook_has_its_urgency_meaning_diagnosis_and_action(name: str) -> None:
    parts = re.findall(r"^\*\*(.+?)\*\*", runbooks()[name], flags=re.MULTILINE)

    assert parts == ["Urgency.", "Means.", "See more.", "Do."]
    urgency = runbooks()[name].partition("**Means.**")[0]
    assert re.search(HURT, urgency), urgency
    assert re.search(MAY_WAIT, urgency), urgency


@pytest.mark.parametrize("name", [*runbooks(), *PROCEDURES])
def test_a_runbook_begins_with_who_is_hurt_and_whether_it_can_wait(name: str) -> None:
    (text,) = re.findall(rf"^##+ {name}\n\n(.+?)\n\n", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)

    assert text.startswith("**Urgency.**")
    assert re.search(HURT, text), text
    assert re.search(MAY_WAIT, text), text


def test_the_commands_of_the_runbooks_name_existing_resources() -> None:
    text = PAGE.read_text(encoding="utf-8")
    known = {found.logical_id for found in resources()} | {"NAME"}

    named = set(re.findall(r"\$\(id (\w+)\)", text)) | set(re.findall(r"^    ask (\w+)", text, flags=re.MULTILINE))

    assert named
    assert named <= known


def test_the_log_queries_in_the_docs_use_fields_that_are_logged(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [path.read_text(encoding="utf-8") for path in sorted(Path(ROOT / "docs").glob("*.md"))]
    written = lines(capsys, monkeypatch)

    asked_for = {value for text in texts for value in re.findall(r"audit = ['\"](\w+)['\"]", text)}

    assert asked_for
    assert asked_for <= {line["audit"] for line in written}


# ---------------------------------------------------------------------------------------------------------- traces


@pytest.mark.parametrize("tracing", ["Disabled", "Active"])
def test_x_ray_and_its_permissions_are_there_only_where_tracing_is_active(
    monkeypatch: pytest.MonkeyPatch, tracing: str
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")  # SAM needs a Region
    body = load(ROOT / "stack.yaml", {"Tracing": tracing, "Authorizer": "iam"}).body["Resources"]
    functions = {name: one["Properties"] for name, one in body.items() if one["Type"] == "AWS::Lambda::Function"}

    traced = {name for name, one in functions.items() if "TracingConfig" in one}
    allowed = {name for name, one in body.items() if "xray" in json.dumps(one).lower()}

    assert traced == (set(functions) if tracing == "Active" else set())
    assert allowed == {f"{name}Role" for name in traced}


def test_nothing_is_traced_by_default() -> None:
    made = stack("iam")

    assert (made.parameters["Tracing"], made.parameters["Spans"]) == ("Disabled", "off")
