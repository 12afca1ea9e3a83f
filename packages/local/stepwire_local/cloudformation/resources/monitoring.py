"""Alarms, dashboards and metric filters: accepted and without effect, because nothing records metrics here."""

from stepwire_local.cloudformation.resources.kinds import Created, Kind, Resource, World, keep

_NOT_COUNTED = "alarms, dashboards and metric filters: nothing is counted, so none rings or shows anything"


def _alarm(resource: Resource, world: World) -> Created:
    name: str = resource.properties.get("AlarmName", world.name(resource))
    return Created(name, {"Arn": world.arn("cloudwatch", f"alarm:{name}")})


def _dashboard(resource: Resource, world: World) -> Created:
    return Created(resource.properties.get("DashboardName", world.name(resource)))


def _metric_filter(resource: Resource, world: World) -> Created:
    return Created(resource.properties.get("FilterName", world.name(resource)))


KINDS = {
    "AWS::CloudWatch::Alarm": Kind(
        _alarm,
        served=("AlarmName",),
        harmless=(
            "ActionsEnabled",
            "AlarmActions",
            "AlarmDescription",
            "ComparisonOperator",
            "DatapointsToAlarm",
            "Dimensions",
            "EvaluateLowSampleCountPercentile",
            "EvaluationPeriods",
            "ExtendedStatistic",
            "InsufficientDataActions",
            "MetricName",
            "Metrics",
            "Namespace",
            "OKActions",
            "Period",
            "Statistic",
            "Threshold",
            "TreatMissingData",
            "Unit",
        ),
        note=_NOT_COUNTED,
        update=keep,
    ),
    "AWS::CloudWatch::Dashboard": Kind(
        _dashboard,
        served=("DashboardName",),
        harmless=("DashboardBody",),
        note=_NOT_COUNTED,
        update=keep,
    ),
    "AWS::Logs::MetricFilter": Kind(
        _metric_filter,
        served=("FilterName",),
        harmless=("ApplyOnTransformedLogs", "FilterPattern", "LogGroupName", "MetricTransformations"),
        note=_NOT_COUNTED,
        update=keep,
    ),
}
