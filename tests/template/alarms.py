"""When an alarm of the template rings, as CloudWatch decides it."""

from collections.abc import Mapping, Sequence
from operator import ge, gt
from typing import Any, Final

_COMPARED: Final = {"GreaterThanThreshold": gt, "GreaterThanOrEqualToThreshold": ge}


def rings(alarm: Mapping[str, Any], values: Sequence[float]) -> bool:
    """Tell whether an alarm with these properties rings after these values of its metric, one in each period."""
    if not values:
        return alarm["TreatMissingData"] == "breaching"
    is_over, periods = _COMPARED[alarm["ComparisonOperator"]], alarm["EvaluationPeriods"]
    over = [one for one in values[-periods:] if is_over(one, alarm["Threshold"])]
    return len(over) >= alarm.get("DatapointsToAlarm", periods)
