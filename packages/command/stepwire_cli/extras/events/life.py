"""What belongs to the life of a task: the events that are recorded for its caller, and their deliveries to webhooks."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from stepwire.changes import CallerEvent
from stepwire.extras.events.store import event_in
from stepwire.tasks.task import Task
from stepwire_cli.account.calls import Calls
from stepwire_cli.account.errors import AccountError
from stepwire_cli.account.lives import Moment

_SOURCE: Final = "events"
LOGS: Final = ("WebhooksLogs",)
FIELDS: Final = ("webhook", "event", "milliseconds")
WORDS: Final = {
    "webhook": {
        "delivered": "the event {event} was delivered to a webhook in {milliseconds} ms",
        "skip": "a webhook refused the event {event}: it is not sent again",
        "retry": "a webhook did not take the event {event}: it is sent again later",
    }
}
_MOST_PAGES: Final = 10  # of a caller's events, a megabyte each


def moments(calls: Calls, table: str, task: Task, problems: list[str]) -> Iterator[Moment]:
    """Yield the events that are recorded for the caller, who may have asked for some of them."""
    try:
        page: Any = {}
        for page in islice(_pages(calls, table, task), _MOST_PAGES):
            for event in map(event_in, page["Items"]):
                if event.data.get("taskId") == task.task_id:
                    yield Moment(event.at, _SOURCE, f"recorded for its caller: {_words_of(event)}")
        if page.get("LastEvaluatedKey"):
            problems.append("the caller's events: there are more than were read")
    except AccountError as error:
        problems.append(f"the caller's events: {error}")


def _pages(calls: Calls, table: str, task: Task) -> Iterator[Any]:
    return calls.table_pages(
        "Query",
        TableName=table,
        KeyConditionExpression="pk = :pk AND begins_with(sk, :sk)",
        FilterExpression="contains(#event, :task)",
        ExpressionAttributeNames={"#event": "event"},
        ExpressionAttributeValues={":pk": {"S": task.owner}, ":sk": {"S": "change#"}, ":task": {"S": task.task_id}},
    )


def _words_of(event: CallerEvent) -> str:
    if "previousStatus" not in event.data:
        return event.names[0].removeprefix("task.")
    before = event.data["previousStatus"]
    return f"{event.data['status']}, before {before}" if before else event.data["status"]
