"""The trace that a call continues: in the execution, in each line about its task, and in what tells of the task."""

import json
from datetime import timedelta
from io import StringIO
from typing import Any, Final

import pytest
from aws_lambda_powertools import Logger
from msgspec.structs import replace

from stepwire.audit import AuditAction, Audited, AuditEntry
from stepwire.aws.audit_log import write_audit_entry
from stepwire.aws.invocations import log_fault
from stepwire.aws.status_changes_function import StatusChangesHandler
from stepwire.background.execution_events import ExecutionStatusChange
from stepwire.background.sweep import Sweep
from stepwire.changes import status_event
from stepwire.errors import WorkflowsUnavailable
from stepwire.tasks.outcomes import ExecutionFailed
from stepwire.tasks.runs import Retry
from stepwire.tasks.task import Task
from stepwire.tracing import follow
from tests.changes import saved
from tests.kits import ALICE, World
from tests.server.answers import Json
from tests.server.clients import LegacyClient, ModernClient
from tests.unit.background.test_status_changes import Bus, record

TRACE_ID: Final = "0af7651916cd43dd8448eb211c80319c"
PARENT: Final = f"00-{TRACE_ID}-b7ad6b7169203331-01"
OTHER: Final = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
STATE: Final = "rojo=00f067aa0ba902b7,congo@vendor=t61rcWkgMzE"
MAX_STATE: Final = ",".join(f"{chr(97 + number)}={'x' * 125}" for number in range(4))
Client = ModernClient | LegacyClient


def world_of(client: Client) -> World:
    assert isinstance(client.endpoint, World)
    return client.endpoint


def call(client: Client, **meta: object) -> Task:
    """Call a tool with trace context, as a task."""
    params: Json = {"name": "optional", "arguments": {"text": "x"}}
    if isinstance(client, LegacyClient):
        answer = client.ask("tools/call", {**params, "task": {}, "_meta": meta}).result["task"]["taskId"]
    else:
        answer = client.ask("tools/call", params, meta=meta).id_in()
    (task,) = [one for one in world_of(client).store.page(ALICE, None, 100).tasks if one.task_id == answer]
    return task


@pytest.fixture(params=["modern", "legacy"])
def client(request: pytest.FixtureRequest, world: World) -> Client:
    return ModernClient(world) if request.param == "modern" else LegacyClient.opened(world)


def context_of(task: Task) -> Json | None:
    """Return what tells of the task on an event."""
    event = status_event(saved(None, task))
    assert event is not None
    found = {name: event.detail[name] for name in ("traceparent", "tracestate") if name in event.detail}
    return found or None


# M29
def test_each_execution_of_a_task_belongs_to_the_trace_of_its_call(client: Client, world: World) -> None:
    task = call(client, traceparent=PARENT)
    world.store.tasks[task.key] = replace(task, retry=Retry(2, ("States.ALL",), delay=timedelta()))
    world.fail(task.task_id)

    headers = [start.trace_header for start in world.workflows.starts]

    assert headers == ["Root=1-0af76519-16cd43dd8448eb211c80319c;Parent=b7ad6b7169203331;Sampled=1"] * 2


# M29
@pytest.mark.parametrize(
    ("parent", "state", "context"),
    [
        (PARENT, None, {"traceparent": PARENT}),
        (PARENT, STATE, {"traceparent": PARENT, "tracestate": STATE}),
        (PARENT, " a=1\t, ,b=2 ", {"traceparent": PARENT, "tracestate": "a=1,b=2"}),
        (PARENT, MAX_STATE, {"traceparent": PARENT, "tracestate": MAX_STATE}),
        (PARENT, f"{MAX_STATE},e=1", {"traceparent": PARENT}),
        (PARENT, "a=1,a=2", {"traceparent": PARENT}),
        (PARENT, "A=1", {"traceparent": PARENT}),
        (PARENT, "a=1=2", {"traceparent": PARENT}),
        (PARENT, "a=1\r\nx: y", {"traceparent": PARENT}),
        (PARENT, ",".join(f"k{number}=1" for number in range(33)), {"traceparent": PARENT}),
        (PARENT, 7, {"traceparent": PARENT}),
        (f"{PARENT[:-2]}ff", None, {"traceparent": f"{PARENT[:-2]}03"}),
        (f"cc{PARENT[2:]}", None, {"traceparent": PARENT}),
        (f"cc{PARENT[2:]}-what-will-be", None, {"traceparent": PARENT}),
        (f"cc{PARENT[2:]}.what", None, None),
        (f"cc{PARENT[2:]}-{'x' * 256}", None, None),
        (f"ff{PARENT[2:]}", None, None),
        (f"{PARENT}-more", None, None),
        (f"{PARENT}\n", None, None),
        (PARENT.upper(), STATE, None),
        (f"00-{'0' * 32}-b7ad6b7169203331-01", STATE, None),
        (f"00-{TRACE_ID}-{'0' * 16}-01", None, None),
        (f" {PARENT}", None, None),
        ("00", None, None),
        ("", None, None),
        (7, STATE, None),
        (None, STATE, None),
        ([PARENT], None, None),
    ],
)
def test_what_w3c_does_not_allow_is_ignored(client: Client, parent: Any, state: Any, context: Json | None) -> None:
    task = call(client, traceparent=parent, tracestate=state, baggage="x" * 10_000)

    assert context_of(task) == context
    assert world_of(client).workflows.starts[0].input_text == '{"text":"x"}'


def test_an_event_for_operators_continues_the_trace(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENT_BUS", "agents")
    monkeypatch.setenv("TABLE_NAME", "tasks")
    bus, task = Bus(), call(ModernClient(world), traceparent=PARENT, tracestate=STATE, baggage="userId=alice")

    StatusChangesHandler(bus.client)({"Records": [record("INSERT", None, task)]}, None)

    detail = json.loads(bus.told[0]["Detail"])
    assert (detail["traceparent"], detail["tracestate"]) == (PARENT, STATE)
    assert "alice" not in str(detail)


# ---------------------------------------------------------------------------------------------------------- the log


class Audit(list[AuditEntry]):
    """The audit log, which writes each entry at once."""

    def append(self, entry: AuditEntry) -> None:
        write_audit_entry(entry)
        super().append(entry)


class Troubles(list[Exception]):
    """What is reported, each logged at once."""

    def __init__(self) -> None:
        self.log = StringIO()
        self.logger = Logger(service=f"traces {id(self)}", stream=self.log)

    def append(self, fault: Exception) -> None:
        log_fault(fault, "a fault", "check postponed", self.logger)
        super().append(fault)

    def traces(self) -> list[str | None]:
        return [json.loads(line).get("trace_id") for line in self.log.getvalue().splitlines()]


def expire(world: World, task: Task) -> None:
    world.clock.time += task.ttl
    Sweep(world.sweeping()).run()


def end(world: World, task: Task) -> None:
    world.succeed(task.task_id, {"answer": 42})


@pytest.mark.parametrize(
    ("action", "act", "sent", "shown"),
    [
        (AuditAction.ENDED, end, None, TRACE_ID),
        (AuditAction.EXPIRED, expire, None, TRACE_ID),
        (AuditAction.POLLED, ModernClient.task, None, TRACE_ID),
        (AuditAction.POLLED, ModernClient.task, OTHER, OTHER[3:35]),
        (AuditAction.REFUSED, ModernClient.ask, OTHER, OTHER[3:35]),
        (AuditAction.REFUSED, ModernClient.ask, None, None),
    ],
)
def test_an_audit_line_has_the_trace_of_its_request_or_else_of_its_task(
    capsys: pytest.CaptureFixture[str], action: Audited, act: Any, sent: str | None, shown: str | None
) -> None:
    world = World(audit=Audit())
    task, client = (
        call(ModernClient(world), traceparent=PARENT, tracestate=STATE, baggage="userId=alice"),
        ModernClient(world),
    )
    follow(None)  # as before each event of a function

    if act is ModernClient.task:
        client.ask("tasks/get", {"taskId": task.task_id}, meta={"traceparent": sent})
    elif act is ModernClient.ask:
        client.ask("no/method", meta={"traceparent": sent})
    else:
        act(world, task)

    text = capsys.readouterr().out
    written = {line["audit"]: line.get("trace_id") for line in map(json.loads, text.splitlines())}
    assert (written["created"], written[action.word]) == (TRACE_ID, shown)
    assert "alice" not in text
    assert STATE not in text


@pytest.mark.parametrize("act", ["sweep", "event", "read"])
def test_a_fault_is_logged_with_the_trace_of_the_task_that_met_it(act: str) -> None:
    troubles = Troubles()
    world = World(troubles=troubles)
    client = ModernClient(world)
    task = call(client, traceparent=PARENT)
    world.clock.time += world.intervals.repair
    world.workflows.is_available = False
    follow(None)

    match act:
        case "sweep":
            Sweep(world.sweeping()).run()
        case "event":
            with pytest.raises(WorkflowsUnavailable) as met:
                world.events.record(ExecutionStatusChange(task.execution, ExecutionFailed("", "")))
            troubles.append(met.value)
        case _:
            client.task("get", task.task_id)

    assert troubles.traces() == [TRACE_ID]
