"""Whole conversations of each kind. A client must see the same, whichever function instances answer."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from tests.kits import OUTPUT, World
from tests.server.answers import Answer, Json
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, Endpoint, LegacyClient, ModernClient
from tests.server.messages import ACCEPT, CONFIRMING, questions

WRONG: Final[Json] = {"action": "accept", "content": {"amount": 0}}
Flow: TypeAlias = Callable[[World, Endpoint], list[Any]]


def legacy(endpoint: Endpoint, **said: Any) -> LegacyClient:
    """Return a client with a session that resumes streams and can ask its user."""
    return LegacyClient.opened(endpoint, capabilities=ASKING_CAPABILITY, **said)


def modern(endpoint: Endpoint, **more: Any) -> ModernClient:
    """Return a modern client that can ask its user."""
    return ModernClient(endpoint, capabilities={**ASKING_CAPABILITY, **more})


def newest(client: LegacyClient) -> str:
    """Return the id of the newest task."""
    return client.ask("tasks/list").result["tasks"][0]["taskId"]


def follow_to_the_end(client: LegacyClient, world: World, first: Answer, task_id: str) -> list[Any]:
    """Follow a stream through progress, a lost body, a question, a wrong answer, a right answer, and the end."""
    world.clock.advance(seconds=1)
    world.progress(task_id, 10, message="a tenth")
    lost = client.resume(first.last_event_id, opened_by=first.request)
    second = client.resume(first.last_event_id, opened_by=first.request)
    world.ask(task_id)
    third = client.resume(second.last_event_id, opened_by=first.request)
    (asked,) = questions(third.messages)
    refused = client.respond(asked, result=WRONG)
    fourth = client.resume(third.last_event_id, opened_by=first.request)
    (again,) = questions(fourth.messages)
    taken = client.respond(again, result=ACCEPT)
    world.succeed(task_id, OUTPUT)
    last = client.resume(fourth.last_event_id, opened_by=first.request)
    ended = client.resume(last.last_event_id, opened_by=first.request)
    assert last.result["structuredContent"] == OUTPUT
    return [one.response for one in (first, lost, second, third, refused, fourth, taken, last, ended)]


def result_of_a_task(world: World, endpoint: Endpoint) -> list[Any]:
    """Resume the stream of a legacy tasks/result."""
    client = legacy(endpoint)
    task_id = client.call("optional", task={}, progress_token="t").id_in("task")
    return follow_to_the_end(client, world, client.task("result", task_id, message_id="r"), task_id)


def plain_call(world: World, endpoint: Endpoint) -> list[Any]:
    """Resume the stream of a legacy plain call."""
    client = legacy(endpoint)
    first = client.call("optional", progress_token=7, message_id=3)
    return follow_to_the_end(client, world, first, newest(client))


def cancelled_plain_call(world: World, endpoint: Endpoint) -> list[Any]:
    """Cancel a legacy plain call."""
    client = legacy(endpoint)
    first = client.call("optional", message_id="r")
    told = client.notify("notifications/cancelled", {"requestId": "r"})
    got = client.resume(first.last_event_id, opened_by=first.request)
    task = client.task("get", newest(client)).result
    assert (told.status, got.code, task["status"]) == (202, -31005, "cancelled")
    return [first.response, got.response, task]


def legacy_confirmation(world: World, endpoint: Endpoint) -> list[Any]:
    """Confirm a legacy call."""
    client = legacy(endpoint)
    task_id = client.call("confirmed", task={}).id_in("task")
    first = client.task("result", task_id)
    answers = [client.respond(one, result=CONFIRMING).response for one in questions(first.messages)]
    world.succeed(task_id, OUTPUT)
    last = client.resume(first.last_event_id, opened_by=first.request)
    assert last.result["structuredContent"] == OUTPUT
    return [first.response, *answers, last.response]


def call_without_resuming(world: World, endpoint: Endpoint) -> list[Any]:
    """Call and wait as a legacy client that cannot resume."""
    client = legacy(endpoint, name="Visual Studio Code")
    call = client.call("optional")
    early = client.task("result", newest(client))
    world.succeed(newest(client), OUTPUT)
    late = client.task("result", newest(client))
    assert late.result["structuredContent"] == OUTPUT
    return [call.response, early.response, late.response]


def update(world: World, endpoint: Endpoint) -> list[Any]:
    """Answer the question of a modern task."""
    client = modern(endpoint, **TASKS_CAPABILITY)
    task_id = client.start()
    world.ask(task_id)
    waiting = client.task("get", task_id)
    refused = client.update(task_id, {"approval": WRONG})
    acknowledged = client.update(task_id, {"approval": ACCEPT})
    working = client.task("get", task_id)
    world.succeed(task_id, OUTPUT)
    completed = client.task("get", task_id)
    assert completed.result["result"]["structuredContent"] == OUTPUT
    return [one.response for one in (waiting, refused, acknowledged, working, completed)]


def confirmation(world: World, endpoint: Endpoint) -> list[Any]:
    """Confirm a modern call, and repeat the confirmation."""
    client = modern(endpoint, **TASKS_CAPABILITY)
    first = client.call("confirmed")
    more: Json = {"requestState": first.result["requestState"], "inputResponses": {"confirm": CONFIRMING}}
    created = client.call("confirmed", more=more)
    world.clock.advance(seconds=1)
    replayed = client.call("confirmed", more=more)
    world.succeed(created.id_in(), OUTPUT)
    completed = client.task("get", created.id_in())
    assert (replayed.id_in(), completed.result["status"]) == (created.id_in(), "completed")
    return [one.response for one in (first, created, replayed, completed)]


def rounds(world: World, endpoint: Endpoint) -> list[Any]:
    """Make a modern plain call in rounds, with a question and progress."""
    client, teller = modern(endpoint), legacy(endpoint)

    def again(answer: Answer, **more: Any) -> Answer:
        known: Json = {"requestState": answer.result["requestState"], **more}
        return client.call("optional", more=known, progress_token="t")

    first = client.call("optional")
    task_id = newest(teller)
    world.ask(task_id)
    world.progress(task_id, 50)
    second = again(first)
    third = again(second, inputResponses={"approval": ACCEPT})
    world.succeed(task_id, OUTPUT)
    fourth = again(third)
    assert fourth.result["structuredContent"] == OUTPUT
    return [one.response for one in (first, second, third, fourth)]


def listening(world: World, endpoint: Endpoint) -> list[Any]:
    """Listen for tasks, before and after they end."""
    client = modern(endpoint, **TASKS_CAPABILITY)
    ids = [client.start() for _ in range(3)]
    world.ask(ids[1])
    before = client.listen({"taskIds": ids})
    world.succeed(ids[0], OUTPUT)
    after = client.listen({"taskIds": ids})
    return [before.response, after.response]


FLOWS: Final[Mapping[str, Flow]] = {
    "the result of a task": result_of_a_task,
    "a plain call": plain_call,
    "a plain call that is given up": cancelled_plain_call,
    "a confirmation in legacy": legacy_confirmation,
    "a client that does not come back": call_without_resuming,
    "an update": update,
    "a confirmation in modern": confirmation,
    "rounds": rounds,
    "listening": listening,
}
