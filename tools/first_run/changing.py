"""Trials of SnapStart, and of what `StepUp` asks of API Gateway."""

import json
from typing import Any, Final

import httpx

from stepwire_local.cloudformation.template import read
from tools.first_run.account import TEMPLATES, Account
from tools.first_run.clock import TooLong
from tools.first_run.trial import Seen, so

_FORBIDDEN: Final = 403
_HEADER: Final = "www-authenticate"
_RESTORES: Final = '{ $.type = "platform.restoreReport" }'


def snap_start(account: Account) -> Seen:
    """Publish a version with a snapshot; call, and read from the log how long the copy took to start."""
    # MetricsDashboard=on: Lambda logs what it restores.
    with account.changed(SnapStart="PublishedVersions", MetricsDashboard="on") as stack:
        function, group = account.resource(stack, "McpFunction"), account.resource(stack, "McpLogs")
        found = account.calls.call("lambda", "GetFunctionConfiguration", FunctionName=function, Qualifier="live")
        status = found.get("SnapStart", {}).get("OptimizationStatus", "Off")
        account.called(account.served(stack))

        def restored() -> list[float]:
            lines = account.calls.call("logs", "FilterLogEvents", logGroupName=group, filterPattern=_RESTORES)["events"]
            return [took for one in lines if (took := _restored(one["message"]))]

        try:
            took = account.clock.until(restored, 3, "a restore is in the log")
        except TooLong as error:
            return so(is_so=False, evidence=f"OptimizationStatus is {status}; {error}")
    words = f"restored in {min(took):.0f} to {max(took):.0f} ms ({len(took)} starts)"
    return so(status == "On", f"OptimizationStatus is {status}; {words}")


def step_up(account: Account) -> Seen:
    """Refuse a call behind an HTTP API that maps the header as the release does."""
    choice: Any = account.release.document["Resources"]["McpIntegration"]["Properties"]["ResponseParameters"]
    template = read(TEMPLATES / "step-up.yaml")
    template["Resources"]["Integration"]["Properties"]["ResponseParameters"] = choice["Fn::If"][1]
    url, headers = account.address(account.side_stack("step-up", template))

    def refused() -> httpx.Response | None:
        answer = httpx.get(url, headers=headers, timeout=30)
        return answer if answer.status_code == _FORBIDDEN else None

    names = sorted(account.clock.until(refused, 2, "the API refuses").headers.keys())
    told = ", ".join(name for name in names if _HEADER in name) or "none"
    return so(_HEADER in names, f"API Gateway took the mapping; headers that a client gets: {told}")


def _restored(line: str) -> float:
    """Return the milliseconds of a line of Lambda's log in JSON; 0: it has none."""
    try:
        return float(json.loads(line)["record"]["metrics"]["durationMs"])
    except (ValueError, KeyError, TypeError):
        return 0
