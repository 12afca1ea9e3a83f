"""Arrange the requests of clients: each function prepares a site and returns the act that makes the request."""

from datetime import timedelta

from stepwire.aws.storage.limiter import usage_key
from stepwire.codec import milliseconds_of
from stepwire.tasks.ids import RANDOM_BYTES, TaskKey, new_task_id
from tests.faults.seen import (
    ANSWER,
    CONFIRMED_ANSWER,
    LARGE,
    LARGE_ARGUMENTS,
    LARGEST,
    Act,
    Seen,
    legacy,
    modern,
    note_handle,
    seen_in,
    seen_of_stream,
)
from tests.faults.site import INTERVALS, Site
from tests.faults.tasks_at_hand import asked, created, left, never_begun, raced
from tests.kits import ALICE, ARGUMENTS, OUTPUT
from tests.server.answers import Json
from tests.server.clients import ASKING_CAPABILITY, LegacyClient, ModernClient


def arrange_create(site: Site) -> Act:
    return lambda: note_handle(site, modern(site).call("optional"))


def arrange_create_large(site: Site) -> Act:
    return lambda: note_handle(site, modern(site).call("optional", LARGE_ARGUMENTS))


def arrange_create_legacy(site: Site) -> Act:
    client = legacy(site)
    return lambda: note_handle(site, client.call("optional", task={}), "task")


def arrange_create_plain(site: Site) -> Act:
    return lambda: seen_in(ModernClient(site, capabilities=ASKING_CAPABILITY).call("optional"))


def arrange_create_plain_legacy(site: Site) -> Act:
    client = legacy(site)

    def act() -> Seen:
        answer = client.call("optional")
        return Seen.RESULT if answer.is_stream else seen_in(answer)

    return act


def arrange_create_with_key(site: Site) -> Act:
    params: Json = {"name": "optional", "arguments": ARGUMENTS}
    key = {"idempotency-key": "order-7"}
    return lambda: note_handle(site, modern(site).ask("tools/call", params, headers=key))


def arrange_create_refused(site: Site) -> Act:
    site.account.boundary.refused_starts = 1
    return arrange_create(site)


def arrange_create_refused_with_key(site: Site) -> Act:
    site.account.boundary.refused_starts = 1
    return arrange_create_with_key(site)


def arrange_create_at_the_limit(site: Site) -> Act:
    """The only slot is held by a task that was never written."""
    ghost = new_task_id(site.clock.now(), bytes(RANDOM_BYTES))
    site.process.recorder.store.slots.reserve(TaskKey(ALICE, ghost), site.limits, site.clock.now())
    site.clock.advance(minutes=2)
    return arrange_create(site)


def arrange_create_where_home_is_full(site: Site) -> Act:
    """The rate of every shard but the first is used up."""
    until = milliseconds_of(site.clock.now() + timedelta(hours=1))
    for shard in range(1, site.limits.shards):
        item = {**usage_key(ALICE, shard), "paced_until": {"N": str(until)}}
        site.account.tables.put_item(TableName=site.table, Item=item)
    return arrange_create(site)


def arrange_create_confirmed(site: Site) -> Act:
    asked = modern(site).call("confirmed").result
    more = {"requestState": asked["requestState"], "inputResponses": {"confirm": CONFIRMED_ANSWER}}
    site.restart()
    return lambda: note_handle(site, modern(site).call("confirmed", more=more))


def arrange_confirm_legacy(site: Site) -> Act:
    task_id = legacy(site).start("confirmed")
    site.handles.add(task_id)
    return lambda: seen_in(modern(site).update(task_id, {"confirm": CONFIRMED_ANSWER}))


def arrange_confirm_large(site: Site) -> Act:
    task_id = legacy(site).call("confirmed", LARGE_ARGUMENTS, task={}).id_in("task")
    site.handles.add(task_id)
    return lambda: seen_in(modern(site).update(task_id, {"confirm": CONFIRMED_ANSWER}))


def arrange_get(site: Site) -> Act:
    task = created(site)
    return lambda: seen_in(modern(site).task("get", task.task_id))


def arrange_get_never_begun(site: Site) -> Act:
    task = never_begun(site)
    return lambda: seen_in(modern(site).task("get", task.task_id))


def arrange_get_never_begun_large(site: Site) -> Act:
    task = never_begun(site, LARGE_ARGUMENTS)
    return lambda: seen_in(modern(site).task("get", task.task_id))


def arrange_get_end_untold(site: Site, output: Json = OUTPUT) -> Act:
    task = created(site)
    site.succeed(output)
    site.clock.time += INTERVALS.repair
    return lambda: seen_in(modern(site).task("get", task.task_id))


def arrange_get_end_too_large_for_an_item(site: Site) -> Act:
    return arrange_get_end_untold(site, LARGEST)


def arrange_get_end_in_s3(site: Site) -> Act:
    task = left(site)
    site.clock.time += INTERVALS.repair
    return lambda: seen_in(modern(site).task("get", task.task_id))


def arrange_result(site: Site, output: Json) -> Act:
    client, task = LegacyClient(site), created(site)
    site.succeed(output)
    site.deliver()
    return lambda: seen_in(client.task("result", task.task_id))


def arrange_result_kept(site: Site) -> Act:
    return arrange_result(site, OUTPUT)


def arrange_result_fetched(site: Site) -> Act:
    return arrange_result(site, LARGE)


def arrange_result_too_large_for_an_item(site: Site) -> Act:
    return arrange_result(site, LARGEST)


def arrange_listen(site: Site) -> Act:
    task = created(site)
    return lambda: seen_in(modern(site).listen({"taskIds": [task.task_id]}))


def arrange_stream(site: Site) -> Act:
    """A plain call is running; its client resumes with the last event id that it got."""
    client = legacy(site)
    latest = first = client.call("optional")
    site.handles.add(site.task().task_id)

    def act() -> Seen:
        nonlocal latest
        answer = client.resume(latest.last_event_id, opened_by=first.request)
        seen = seen_of_stream(answer)
        latest = answer
        return seen

    return act


def arrange_resume(site: Site) -> Act:
    act = arrange_stream(site)
    site.succeed(OUTPUT)
    site.deliver()
    return act


def arrange_resume_large(site: Site, output: Json = LARGE) -> Act:
    act = arrange_stream(site)
    site.succeed(output)
    site.deliver()
    return act


def arrange_resume_too_large_for_an_item(site: Site) -> Act:
    return arrange_resume_large(site, LARGEST)


def arrange_resume_end_untold(site: Site) -> Act:
    act = arrange_stream(site)
    site.succeed(OUTPUT)
    site.clock.time += INTERVALS.repair
    return act


def arrange_list(site: Site) -> Act:
    client, _task = LegacyClient(site), created(site)
    return lambda: seen_in(client.ask("tasks/list"))


# ----------------------------------------------------------------------------------------------------- cancel, answer


def arrange_cancel(site: Site) -> Act:
    task = created(site)
    return lambda: seen_in(modern(site).task("cancel", task.task_id))


def arrange_create_race(site: Site) -> Act:
    """Its second arm starts later."""
    return lambda: note_handle(site, modern(site).call("delayed"))


def arrange_cancel_race(site: Site) -> Act:
    task = raced(site)
    return lambda: seen_in(modern(site).task("cancel", task.task_id))


def arrange_cancelled_request(site: Site) -> Act:
    client = legacy(site)
    client.call("optional", message_id=5)
    return lambda: seen_in(client.notify("notifications/cancelled", {"requestId": 5}))


def arrange_answer(site: Site) -> Act:
    task = asked(site)

    def act() -> Seen:
        seen = seen_in(modern(site).update(task.task_id, {"approval": ANSWER}))
        site.outputs[task.execution] = ANSWER if seen is Seen.RESULT else site.outputs.get(task.execution)
        return seen

    return act


def arrange_answer_posted(site: Site) -> Act:
    client, task = legacy(site), asked(site)

    def act() -> Seen:
        seen = seen_in(client.respond({"id": f"{task.task_id}.1"}, result=ANSWER))
        site.outputs[task.execution] = ANSWER if seen is Seen.RESULT else site.outputs.get(task.execution)
        return seen

    return act
