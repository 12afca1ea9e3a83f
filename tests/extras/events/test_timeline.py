"""`stepwire task ID`: the events that were recorded for the caller, and their deliveries, are moments of the life."""

from datetime import datetime, timedelta

from packages.command.tests.aws import Refusal
from packages.command.tests.operated import ID, OWNER, Stepwire, account, completed, logged, moment, working
from packages.command.tests.test_timeline import line, log_of, seen
from stepwire.aws.storage.table import Item
from stepwire.changes import CallerEvent
from stepwire.codec import encode_without


def told(at: datetime) -> Item:
    """Return what is recorded for the task's caller: its end."""
    data = {"taskId": ID, "tool": "settle_invoices", "status": "completed", "previousStatus": "working"}
    event = CallerEvent(OWNER, ("task.finished", "task.status_changed"), f"{ID}-3", at, data)
    return {"pk": {"S": OWNER}, "sk": {"S": "change#1"}, "event": {"S": encode_without(("owner",), event)}}


def test_an_event_and_its_delivery_are_moments(in_account: Stepwire) -> None:
    at, second = moment(), timedelta(seconds=1)
    lines = logged(
        line(at + 92 * second, log_of("Webhooks"), webhook="delivered", event="task.finished", milliseconds="80"),
        line(at + 95 * second, audit="retrieved"),
    )

    aws = account(completed(at), status="SUCCEEDED", beside=[told(at + 91 * second)], **lines)
    moments, problems = seen(in_account, aws)

    assert problems == []
    assert moments[-3:] == [
        ("events", "recorded for its caller: completed, before working"),
        ("log webhooks", "the event task.finished was delivered to a webhook in 80 ms"),
        ("log mcp", "its result was fetched"),
    ]


def test_events_that_may_not_be_read_are_named_too(in_account: Stepwire) -> None:
    aws = account(completed(moment()), **logged(), Query=Refusal("AccessDeniedException"))

    moments, problems = seen(in_account, aws, "--principal", OWNER)

    assert "events" not in {source for source, _ in moments}
    assert ["dynamodb:Query" in problem for problem in problems] == [True]


def test_an_event_that_a_webhook_did_not_take_has_words(in_account: Stepwire) -> None:
    at = moment()
    lines = logged(line(at, log_of("Webhooks"), webhook="retry", event="task.finished"))

    moments, _ = seen(in_account, account(working(at), **lines))

    assert ("log webhooks", "a webhook did not take the event task.finished: it is sent again later") in moments
