"""Events and their deliveries continue the trace of the call: in what arrives, in the log, and as spans."""

import json
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from stepwire.extras.events.ports import Answer
from stepwire.extras.events.webhook_function import write_delivery
from stepwire.tracing import follow
from tests.extras.events.built import fakes_of
from tests.extras.events.test_polls import ended, poll, tell
from tests.extras.events.test_webhooks import URL, deliver, subscribe
from tests.kits import ALICE, World
from tests.server.clients import ModernClient
from tests.server.test_spans import spans_in, traced
from tests.server.test_traces import PARENT, STATE, TRACE_ID, Client, Troubles, call, client

__all__ = ["client"]


# M29
def test_an_event_and_its_delivery_continue_the_trace_and_have_no_baggage(client: Client, world: World) -> None:
    subscribe(client)
    cursor = poll(client).result["cursor"]
    task = call(client, traceparent=PARENT, tracestate=STATE, baggage="userId=alice")

    tell(world, ended(world, task))
    (polled,) = poll(client, cursor=cursor).result["events"]
    deliver(world)

    challenge, event = fakes_of(world).endpoints.posts
    context = {"traceparent": PARENT, "tracestate": STATE}
    assert polled["_meta"] == event.body["_meta"] == context
    assert {name: event.headers[name] for name in context} == context
    assert not context.keys() & challenge.headers.keys()
    assert "alice" not in f"{polled} {event.text} {event.headers}"


def test_a_receiver_that_does_not_answer_is_no_fault() -> None:
    troubles = Troubles()
    world = World(troubles=troubles)
    client = ModernClient(world)
    task = call(client, traceparent=PARENT)
    follow(None)
    subscribe(client)
    tell(world, ended(world, task))
    fakes_of(world).endpoints.down[URL] = "timeout"

    deliver(world)

    assert troubles.traces() == []


@pytest.mark.parametrize(("status", "told"), [(200, "delivered"), (500, "retry"), (410, "skip")])
def test_each_attempt_to_deliver_an_event_is_a_line_that_names_the_task_and_its_trace(
    world: World, printed: Callable[[], str], status: int, told: str
) -> None:
    fakes_of(world).delivering = replace(fakes_of(world).delivering, tell=write_delivery)
    client = ModernClient(world)
    subscribe(client)
    task = call(client, traceparent=PARENT)
    tell(world, ended(world, task))
    fakes_of(world).endpoints.answers[URL] = lambda _: Answer(status)
    printed()

    deliver(world)

    (line,) = map(json.loads, printed().splitlines())
    assert (line["webhook"], line["event"], line["task_id"]) == (told, "task.finished", task.task_id)
    assert line["trace_id"] == TRACE_ID
    assert URL not in json.dumps(line)


def test_a_delivery_is_a_span_below_the_call(
    world: World, printed: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPANS", "on")
    fakes_of(world).delivering = replace(fakes_of(world).delivering, tell=write_delivery)
    client = ModernClient(traced(world))
    subscribe(client)
    task_id = client.ask(
        "tools/call", {"name": "optional", "arguments": {"text": "x"}}, meta={"traceparent": PARENT}
    ).id_in()  # fmt: skip
    (task,) = world.store.page(ALICE, None, 100).tasks
    assert task.task_id == task_id
    tell(world, ended(world, task))

    deliver(world)

    *_, call, delivery = spans_in(printed())
    assert (delivery["name"], delivery["kind"]) == ("webhook task.finished", 3)
    assert (delivery["traceId"], delivery["parentSpanId"]) == (TRACE_ID, call["spanId"])
    assert delivery["attributes"]["stepwire.task_id"] == task_id
