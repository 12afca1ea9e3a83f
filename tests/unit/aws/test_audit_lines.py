"""The lines of the audit log, compared with what Powertools writes for the same entry."""

import json
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from stepwire.audit import AuditAction, AuditEntry, EndSource
from stepwire.aws.publishing.audit_log import NAMESPACE, write_audit_entry
from stepwire.principal import principal_of

OWNER = principal_of(("someone",), "a salt")
ENTRIES = [
    AuditEntry(action, OWNER, tool, "an id", "failed", duration, source, client)
    for action, tool, (duration, source), client in product(
        AuditAction,
        ("a tool", None),
        ((None, None), (timedelta(seconds=1.5), EndSource.CHECK)),
        (None, "Zoë \ud800"),
    )
]


@pytest.mark.parametrize("service", ["a-stack", None])
def test_a_line_is_what_powertools_writes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, service: str | None
) -> None:
    monkeypatch.delenv("POWERTOOLS_SERVICE_NAME", raising=False)
    if service:
        monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", service)
    for entry in ENTRIES:
        write_audit_entry(entry)

        ours = capsys.readouterr().out
        by_powertools(json.loads(ours))

        assert timeless(ours) == timeless(capsys.readouterr().out)


def by_powertools(line: dict[str, Any]) -> None:
    """Write the dimensions, metrics and words of a line with Powertools."""
    (described,) = line["_aws"]["CloudWatchMetrics"]
    names = [one["Name"] for one in described["Metrics"]]
    metrics: Any = EphemeralMetrics(namespace=NAMESPACE)
    metrics.add_dimension("tool", line["tool"])
    for one in described["Metrics"]:
        metrics.add_metric(one["Name"], MetricUnit(one["Unit"]), line[one["Name"]][0])
    for name in line.keys() - {"_aws", "tool", "service", *names}:
        metrics.add_metadata(name, line[name])
    metrics.flush_metrics()


def timeless(line: str) -> Any:
    """Read a line, without its time."""
    assert line.endswith("\n")
    read = json.loads(line)
    assert isinstance(read["_aws"].pop("Timestamp"), int)
    return read
