"""Alarms, dashboards and metric filters: accepted and without effect, because nothing records metrics here."""

from functools import partial

from stepwire_local.cloudformation.resources.kinds import Created, Kind, Resource, World, keep

_NOT_COUNTED = "alarms, dashboards and metric filters: nothing is counted, so none rings or shows anything"


def _alarm(resource: Resource, world: World) -> Created:
    name: str = resource.properties.get("AlarmName", world.name(resource))
    return Created(name, {"Arn": world.arn("cloudwatch", f"alarm:{name}")})


def _named(name: str, resource: Resource, world: World) -> Created:
    """Create a resource that has only a name, in this property or made."""
    return Created(resource.properties.get(name, world.name(resource)))


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
        partial(_named, "DashboardName"),
        served=("DashboardName",),
        harmless=("DashboardBody",),
        note=_NOT_COUNTED,
        update=keep,
    ),
    "AWS::Logs::MetricFilter": Kind(
        partial(_named, "FilterName"),
        served=("FilterName",),
        harmless=("ApplyOnTransformedLogs", "FilterPattern", "LogGroupName", "MetricTransformations"),
        note=_NOT_COUNTED,
        update=keep,
    ),
}
