"""The console's list of tasks has them in the order in which they began."""

from datetime import UTC, datetime, timedelta

from stepwire.principal import Principal
from stepwire.tasks.ids import new_task_id
from stepwire_local.console.tasks import Tasks
from stepwire_local.streams.task_changes import TaskChange


def test_a_call_that_was_confirmed_is_listed_when_it_began_and_not_at_the_later_time_of_its_id() -> None:
    tasks, before = Tasks(), datetime.now(UTC)
    until = before + timedelta(minutes=15)
    confirmed, next_one = new_task_id(until, bytes(16)), new_task_id(before, bytes(16))

    for task_id, status in ((confirmed, "working"), (next_one, "working"), (confirmed, "completed")):
        tasks.changed(TaskChange(Principal("alice"), task_id, "a tool", status))

    listed = tasks.newest_first()
    assert [(one["taskId"], one["status"]) for one in listed] == [(next_one, "working"), (confirmed, "completed")]
    assert all(datetime.fromisoformat(one["createdAt"]) < until for one in listed)
