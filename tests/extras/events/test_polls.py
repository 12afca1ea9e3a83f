"""MCP Events by poll: `events/list` and `events/poll`, in both eras. The oracle checks every event."""

from datetime import timedelta
from typing import Any, Final

import pytest
from msgspec.structs import replace

from stepwire.catalog.access import Access
from stepwire.changes import Removal, TaskChange
from stepwire.extras.events.events import (
    FINISHED,
    INPUT_REQUIRED,
    PROGRESSED,
    RETENTION,
    STATUS_CHANGED,
    caller_events,
    task_event,
)
from stepwire.extras.events.record import MOST_READ
from stepwire.protocol.tokens import unwrap, wrap
from stepwire.tasks.task import Cancelled, Progress, Task
from tests.changes import removed, saved
from tests.extras.events.built import fakes_of
from tests.extras.events.event_types import ADDED, EVENT_NAMES
from tests.extras.events.oracle import EXTENSION
from tests.kits import ALICE, BOB, PARTS, REQUIRED, World
from tests.server.answers import Answer, Json
from tests.server.clients import LegacyClient, ModernClient

Client = ModernClient | LegacyClient
_TYPES: Final = tuple(one for one in ADDED if one.is_for is None)
"""Of other extras than events, of which a task's caller hears."""


@pytest.fixture(params=["modern", "legacy"])
def client(request: pytest.FixtureRequest, world: World) -> Client:
    return ModernClient(world) if request.param == "modern" else LegacyClient.opened(world)


def tell(world: World, change: TaskChange) -> None:
    """Let the table's stream tell of a change."""
    fakes_of(world).recording.record(list(caller_events(None, change, _TYPES)))


def ended(world: World, task: Task | None = None) -> TaskChange:
    """Return the end of a task."""
    task = task or world.call()
    return saved(task, replace(task, status=Cancelled("xyzzy"), version=task.version + 1))


def poll(client: Client, name: str = STATUS_CHANGED, cursor: str | None = None, **more: Any) -> Answer:
    return client.ask("events/poll", {"name": name, "arguments": {}, "cursor": cursor, **more})


def names(answer: Answer) -> list[str]:
    return [event["data"]["status"] for event in answer.result["events"]]


@pytest.mark.parametrize("declared", [{"events": {}}, {"extensions": {EXTENSION: {}}}])
def test_a_client_of_the_older_era_is_told_if_it_asks(world: World, declared: Json) -> None:
    asking = LegacyClient(world).initialize(capabilities=declared).result["capabilities"]
    silent = LegacyClient(world).initialize(capabilities={}).result["capabilities"]

    assert asking["events"] == asking["extensions"][EXTENSION] == {}
    assert (silent["events"], "extensions" in silent) == ({}, False), "ChatGPT reads the first and names nothing"


# E2
def test_the_list_names_all_types(client: Client) -> None:
    listed = client.ask("events/list").result["events"]

    assert [one["name"] for one in listed] == list(EVENT_NAMES)


@pytest.mark.parametrize("method", ["events/list", "events/poll"])
def test_a_server_without_events_does_not_know_the_methods(world: World, method: str) -> None:
    parts = tuple(one for one in PARTS if one.name != "events")
    world.server = replace(world.server, services=replace(world.services, parts=parts))
    modern = ModernClient(world)

    assert modern.ask(method, {"name": FINISHED}).error["code"] == -32601
    assert "events" not in modern.ask("server/discover").result["capabilities"]


# E3, E4
def test_the_first_poll_begins_now_and_the_next_has_what_happened(client: Client, world: World) -> None:
    task = world.call()
    tell(world, saved(None, task))
    first = poll(client).result
    tell(world, ended(world, task))

    second = poll(client, cursor=first["cursor"]).result
    third = poll(client, cursor=second["cursor"]).result

    (event,) = second["events"]
    assert (event["eventId"], event["name"]) == (f"{task.task_id}-2.status_changed", STATUS_CHANGED)
    assert event["data"]["taskId"] == task.task_id
    assert (event["data"]["previousStatus"], event["data"]["status"]) == ("working", "cancelled")
    assert "xyzzy" not in str(second)
    assert third["events"] == []
    assert not second["truncated"] | second["hasMore"] | third["truncated"]


def test_each_type_has_the_changes_that_it_names(modern: ModernClient, world: World) -> None:
    task = world.call()
    first = poll(modern).result["cursor"]
    world.ask(task.task_id)
    asking = world.stored(task)
    halfway = replace(task, version=3, progress=Progress(50, 100))
    expired = removed(task, Removal.EXPIRED, world.clock.now())
    for change in (
        saved(None, task),
        saved(task, asking),
        saved(task, halfway),
        ended(world, task),
        expired,
    ):
        tell(world, change)

    found = {name: names(poll(modern, name, first)) for name in (FINISHED, INPUT_REQUIRED, PROGRESSED, STATUS_CHANGED)}

    assert found == {
        FINISHED: ["cancelled"],
        INPUT_REQUIRED: ["input_required"],
        PROGRESSED: ["working"],
        STATUS_CHANGED: ["working", "input_required", "cancelled", "expired"],
    }


def test_progress_is_told_a_tenth_at_a_time(world: World) -> None:
    task = world.call()
    done = [replace(task, progress=Progress(part, 200)) for part in range(201)]
    endless = [replace(task, progress=Progress(part)) for part in range(1001)]

    def told(tasks: list[Task]) -> int:
        pairs = zip([task, *tasks], tasks, strict=False)
        return sum(task_event(saved(before, after)) is not None for before, after in pairs)

    assert (told(done), told(endless)) == (11, 11)


def test_the_arguments_narrow_to_a_tool_or_a_task(modern: ModernClient, world: World) -> None:
    tasks = [world.call(), world.call(), world.call(REQUIRED)]
    cursor = poll(modern).result["cursor"]
    for task in tasks:
        tell(world, ended(world, task))

    def ids(**arguments: str) -> list[str]:
        answer = poll(modern, FINISHED, cursor, arguments=arguments)
        return [event["data"]["taskId"] for event in answer.result["events"]]

    assert ids() == [task.task_id for task in tasks]
    assert ids(tool="required") == [tasks[2].task_id]
    assert ids(taskId=tasks[1].task_id) == [tasks[1].task_id]
    assert ids(tool="required", taskId=tasks[1].task_id) == []


def test_nobody_hears_of_the_tasks_of_others(world: World) -> None:
    alice, bob = ModernClient(world), ModernClient(world, owner=BOB)
    mine, theirs = poll(alice).result["cursor"], poll(bob).result["cursor"]
    tell(world, ended(world))

    assert len(names(poll(alice, cursor=mine))) == 1
    assert names(poll(bob, cursor=theirs)) == []
    assert poll(bob, cursor=mine).error["code"] == -32602


def test_nothing_is_recorded_for_callers_who_do_not_ask(world: World) -> None:
    tell(world, ended(world))

    assert fakes_of(world).event_store.read(ALICE, 0, 10) == []


@pytest.mark.parametrize(("most", "calls"), [(1, 3), (2, 2), (50, 1)])
def test_a_long_list_is_read_in_parts(modern: ModernClient, world: World, most: int, calls: int) -> None:
    cursor = poll(modern).result["cursor"]
    for _ in range(3):
        tell(world, ended(world))
    found, asked, more = list[str](), 0, True

    while more:
        answer = poll(modern, FINISHED, cursor, maxEvents=most).result
        cursor, more, asked = answer["cursor"], answer["hasMore"], asked + 1
        found += [event["data"]["taskId"] for event in answer["events"]]

    assert (len(set(found)), asked) == (3, calls)


def test_one_poll_reads_a_bounded_part_of_what_does_not_match(modern: ModernClient, world: World) -> None:
    cursor = poll(modern).result["cursor"]
    change = ended(world)
    for number in range(MOST_READ):
        tell(world, replace(change, task=replace(change.task, version=number)))
    tell(world, ended(world, world.call(REQUIRED)))

    first = poll(modern, FINISHED, cursor, arguments={"tool": "required"}).result
    second = poll(modern, FINISHED, first["cursor"], arguments={"tool": "required"}).result

    assert (first["events"], first["hasMore"], len(second["events"])) == ([], True, 1)


# E5
def test_a_cursor_that_is_too_old_begins_anew_and_says_so(modern: ModernClient, world: World) -> None:
    cursor = poll(modern).result["cursor"]
    world.clock.advance(days=RETENTION.days, seconds=1)
    tell(world, ended(world))

    answer = poll(modern, cursor=cursor).result
    later = poll(modern, cursor=answer["cursor"]).result

    assert (answer["truncated"], answer["events"], later["truncated"]) == (True, [], False)


def test_a_cursor_stays_young_while_nothing_happens(modern: ModernClient, world: World) -> None:
    cursor = poll(modern).result["cursor"]
    for _ in range(20):
        world.clock.advance(days=1)
        answer = poll(modern, cursor=cursor).result
        assert not answer["truncated"]
        cursor = answer["cursor"]
    tell(world, ended(world))

    assert names(poll(modern, cursor=cursor)) == ["cancelled"]


# E6
def test_a_caller_can_leave_out_what_is_old(modern: ModernClient, world: World) -> None:
    cursor = poll(modern).result["cursor"]
    tell(world, ended(world))
    world.clock.advance(minutes=10)
    tell(world, ended(world))

    young = poll(modern, cursor=cursor, maxAgeMs=60_000).result
    null = poll(modern, maxAgeMs=60_000).result

    assert (len(young["events"]), young["truncated"], null["truncated"]) == (1, True, False)


def test_without_sign_in_only_a_named_task_can_be_followed(world: World) -> None:
    world.server = replace(world.server, services=replace(world.services, access=Access(knows_callers=False)))
    modern, task = ModernClient(world), world.call()

    assert poll(modern).error["code"] == -32012
    cursor = poll(modern, arguments={"taskId": task.task_id}).result["cursor"]
    tell(world, ended(world, task))
    assert names(poll(modern, cursor=cursor, arguments={"taskId": task.task_id})) == ["cancelled"]


FOREIGN: Final = "01kyyk41g000000000000000000000000009"
BAD: Final[dict[str, tuple[Json, int]]] = {
    "no name": ({}, -32602),
    "a name that is no text": ({"name": 7}, -32602),
    "an unknown type": ({"name": "task.exploded"}, -32011),
    "an unknown filter": ({"name": FINISHED, "arguments": {"status": "failed"}}, -32602),
    "a filter of a wrong type": ({"name": FINISHED, "arguments": {"tool": 7}}, -32602),
    "arguments that are no object": ({"name": FINISHED, "arguments": ["tool"]}, -32602),
    "an unknown tool": ({"name": FINISHED, "arguments": {"tool": "nonesuch"}}, -32602),
    "a task that never was": ({"name": FINISHED, "arguments": {"taskId": FOREIGN}}, -32602),
    "a task id of another form": ({"name": FINISHED, "arguments": {"taskId": "../usage"}}, -32602),
    "a cursor from elsewhere": ({"name": FINISHED, "cursor": "historyId_99842"}, -32602),
    "a cursor of a list of tools": ({"name": FINISHED, "cursor": wrap("tool:optional")}, -32602),
    "a cursor that is no text": ({"name": FINISHED, "cursor": 7}, -32602),
    "a cursor that is too long": ({"name": FINISHED, "cursor": "a" * 257}, -32602),
    "an age that is no number": ({"name": FINISHED, "maxAgeMs": "all"}, -32602),
    "no events": ({"name": FINISHED, "maxEvents": 0}, -32602),
    "half an event": ({"name": FINISHED, "maxEvents": 0.5}, -32602),
}


# E7
@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_bad_input_gets_an_error(client: Client, bad: tuple[Json, int]) -> None:
    params, code = bad

    assert client.ask("events/poll", params).error["code"] == code


@pytest.mark.parametrize("changed", [[2, -1], [2, 10**15], [3, -1], [3, 10**15], [3, "1"], [0, "e2"]])
def test_a_changed_cursor_is_refused(modern: ModernClient, changed: list[Any]) -> None:
    parts: Any = unwrap(poll(modern).result["cursor"])
    position, value = changed
    parts[position] = value

    assert poll(modern, cursor=wrap(parts)).error["code"] == -32602


def test_a_client_that_polls_without_a_pause_is_refused() -> None:
    world = World(polls_per_second=1)
    modern = ModernClient(world)
    poll(modern)
    poll(modern)

    assert poll(modern).error["code"] == -31002


def test_the_list_has_one_page(modern: ModernClient) -> None:
    assert modern.ask("events/list", {"cursor": "bmV4dA"}).error["code"] == -32602


def test_progress_of_a_task_that_has_ended_is_no_event(world: World) -> None:
    task = replace(world.call(), status=Cancelled(), progress=Progress(1, 10))

    assert task_event(saved(task, replace(task, progress=Progress(9, 10)))) is None
    assert timedelta(days=1) < RETENTION
