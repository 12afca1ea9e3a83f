"""The lines of the audit log, compared with what Powertools writes for the same entry."""

import json
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from stepwire.audit import AuditAction, AuditEntry, EndSource
from stepwire.aws.audit_log import NAMESPACE, SampledPolls, write_audit_entry
from stepwire.principal import principal_of
from tests.docs.audit_schema import ACTIONS

OWNER = principal_of(("someone",), "a salt")
ENTRIES = [
    AuditEntry(action, OWNER, tool, "an id", "failed", duration, source, client)
    for action, tool, (duration, source), client in product(
        ACTIONS,
        ("a tool", None),
        ((None, None), (timedelta(seconds=1.5), EndSource.CHECK)),
        (None, "Zoë \ud800"),
    )
]


@pytest.mark.parametrize("service", ["a-stack", None])
def test_a_line_is_what_powertools_writes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, service: str | None
) -> None:
    monkeypatch.setenv("TOOL_METRICS", "on")
    monkeypatch.delenv("POWERTOOLS_SERVICE_NAME", raising=False)
    if service:
        monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", service)
    for entry in ENTRIES:
        write_audit_entry(entry)

        ours = capsys.readouterr().out
        by_powertools(json.loads(ours))

        assert timeless(ours) == timeless(capsys.readouterr().out)


def test_without_metrics_by_tool_a_line_has_the_same_members_and_describes_no_metric(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for entry in ENTRIES:
        monkeypatch.setenv("TOOL_METRICS", "on")
        write_audit_entry(entry)
        described = json.loads(capsys.readouterr().out)
        monkeypatch.delenv("TOOL_METRICS")
        write_audit_entry(entry)

        line = json.loads(capsys.readouterr().out)
        del described["_aws"], described["at"], line["at"]
        assert line == described


@pytest.mark.parametrize(
    ("per_line", "polls", "counted"), [(1, 3, [1, 1, 1]), (20, 1, [1]), (20, 20, [1]), (20, 41, [1, 20, 20])]
)
def test_a_line_counts_the_polls_since_the_line_before(
    capsys: pytest.CaptureFixture[str], per_line: int, polls: int, counted: list[int]
) -> None:
    audit = SampledPolls(per_line)

    for _ in range(polls):
        audit(AuditEntry(AuditAction.POLLED, OWNER, "a tool", "an id", "working"))

    assert [json.loads(line)["Polls"] for line in capsys.readouterr().out.splitlines()] == [[one] for one in counted]


def test_every_entry_but_a_poll_has_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    audit, others = SampledPolls(20), [entry for entry in ENTRIES if entry.action is not AuditAction.POLLED]

    for entry in others:
        audit(entry)

    assert len(capsys.readouterr().out.splitlines()) == len(others)


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
    assert isinstance(read.pop("at"), int)
    return read


@pytest.mark.parametrize("winner", ["swift", None])
def test_a_line_about_the_end_of_a_race_names_the_winner(
    capsys: pytest.CaptureFixture[str], winner: str | None
) -> None:
    write_audit_entry(AuditEntry(AuditAction.ENDED, OWNER, "a tool", "a task", "completed", winner=winner))

    line = json.loads(capsys.readouterr().out)
    assert line.get("winner") == winner
    assert ("winner" in line) is (winner is not None)


@pytest.mark.parametrize(
    ("authorizer", "shown"), [("iam", {"task_id": "old", "follow_up_task_id": "new"}), ("none", {})]
)
def test_a_line_about_a_follow_up_names_both_tasks_and_the_operator(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, authorizer: str, shown: dict[str, str]
) -> None:
    """Without sign-in an id is all that a caller needs, so the line has digests."""
    monkeypatch.setenv("AUTHORIZER", authorizer)

    write_audit_entry(
        AuditEntry(AuditAction.FOLLOWED_UP, OWNER, "a tool", "old", "redrive", follow_up="new", operator="an ARN")
    )

    line = json.loads(capsys.readouterr().out)
    assert {name: line.get(name) for name in shown} == shown
    assert line["operator"] == "an ARN"
    assert ("follow_up_task_digest" in line, "follow_up_task_id" in line) == (
        authorizer == "none",
        authorizer != "none",
    )
    assert line["FollowedUp"] == [1.0]
