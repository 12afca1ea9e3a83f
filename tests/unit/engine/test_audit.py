"""The audit log: one entry for each action, which contains nothing that a caller has sent."""

import json
from datetime import timedelta
from typing import Any

import pytest

from stepwire.audit import AuditAction, Audited, AuditEntry, EndSource
from stepwire.aws.audit_log import write_audit_entry
from stepwire.engine.calls import ToolCall, idempotency_key_of
from stepwire.errors import StartRefused, TaskAlreadyEnded
from stepwire.json_text import Json
from stepwire.principal import Caller
from stepwire.protocol.http import HttpRequest
from stepwire.tasks.limiter import Limits
from stepwire.tasks.task import Origin, Task
from tests.kits import ALICE, ARGUMENTS, BAD_ARGUMENTS, BOTH_MODES, CONFIRMED, OPTIONAL, OUTPUT, STRUCTURED, World
from tests.server.clients import LegacyClient, ModernClient

HOW_LONG = timedelta(seconds=90)


def created(task: Task) -> AuditEntry:
    return AuditEntry(AuditAction.CREATED, ALICE, task.work.tool, task.task_id, "working")


def ended(task: Task, outcome: str, source: EndSource | None = None, duration: timedelta = HOW_LONG) -> AuditEntry:
    return AuditEntry(AuditAction.ENDED, ALICE, task.work.tool, task.task_id, outcome, duration, source)


def actions(world: World) -> list[Audited]:
    return [entry.action for entry in world.audit]


def unconfirmed(world: World) -> Task:
    """Call a tool that needs a confirmation."""
    assert CONFIRMED.confirmation is not None
    call = ToolCall(ALICE, CONFIRMED, ARGUMENTS, None, Origin(BOTH_MODES))
    return world.calls.begin(call, CONFIRMED.confirmation).task


class TestEntries:
    """T28."""

    def test_a_creation_writes_an_entry(self) -> None:
        world = World()

        task = world.call()

        assert world.audit == [created(task)]

    def test_a_retried_call_writes_no_second_creation(self) -> None:
        world = World()
        call = ToolCall(ALICE, OPTIONAL, ARGUMENTS, key=idempotency_key_of("order-7", OPTIONAL, ARGUMENTS))

        for _ in range(3):
            world.calls.begin(call)

        assert actions(world).count(AuditAction.CREATED) == 1

    @pytest.mark.parametrize(
        ("output", "outcome"), [(OUTPUT, "completed"), ({"answer": "none"}, "completed_with_error")]
    )
    def test_an_end_writes_an_entry_with_its_outcome_and_duration(self, output: Json, outcome: str) -> None:
        world = World()
        task = world.call(STRUCTURED)
        world.clock.time += HOW_LONG

        world.succeed(task.task_id, output)

        assert world.audit[1:] == [ended(task, outcome, EndSource.EVENT)]

    def test_a_failed_workflow_writes_an_end(self) -> None:
        world = World()
        task = world.call()
        world.clock.time += HOW_LONG

        world.fail(task.task_id)

        assert world.audit[1:] == [ended(task, "completed_with_error", EndSource.EVENT)]

    def test_an_end_that_a_reader_finds_has_the_source_check(self) -> None:
        world = World()
        task = world.overdue()
        world.workflows.succeed(task.execution, OUTPUT)

        world.operations.get(ALICE, task.task_id)
        world.deliver()

        ends = [entry for entry in world.audit if entry.action is AuditAction.ENDED]
        assert [(end.outcome, end.source) for end in ends] == [("completed", EndSource.CHECK)]

    def test_duplicate_end_events_write_one_entry(self) -> None:
        world = World()
        task = world.call()
        world.workflows.succeed(task.execution, OUTPUT)
        world.workflows.undelivered *= 3

        world.deliver()

        assert actions(world) == [AuditAction.CREATED, AuditAction.ENDED]

    def test_a_poll_writes_an_entry(self) -> None:
        world = World()
        task = world.call()

        for _ in range(3):
            world.operations.get(ALICE, task.task_id)

        assert world.audit[1:] == [AuditEntry(AuditAction.POLLED, ALICE, "optional", task.task_id, "working")] * 3

    @pytest.mark.parametrize("era", ["legacy", "modern"])
    def test_the_retrieval_of_a_result_writes_an_entry(self, era: str) -> None:
        world = World()
        task = world.call()
        world.succeed(task.task_id, OUTPUT)
        world.audit.clear()

        if era == "legacy":
            LegacyClient(world).task("result", task.task_id)
        else:
            ModernClient(world).task("get", task.task_id)

        retrieved = [entry for entry in world.audit if entry.action is AuditAction.RETRIEVED]
        assert retrieved == [AuditEntry(AuditAction.RETRIEVED, ALICE, "optional", task.task_id, "completed")]

    def test_a_cancel_writes_an_entry_besides_the_end(self) -> None:
        world = World()
        task = world.call()
        world.clock.time += HOW_LONG

        world.operations.cancel(ALICE, task.task_id)
        world.deliver()

        cancelled = AuditEntry(AuditAction.CANCELLED, ALICE, "optional", task.task_id, "cancelled")
        assert world.audit[1:] == [ended(task, "cancelled"), cancelled]

    def test_a_cancel_of_an_ended_task_writes_no_entry(self) -> None:
        world = World()
        task = world.call()
        world.succeed(task.task_id, OUTPUT)

        with pytest.raises(TaskAlreadyEnded):
            world.operations.cancel(ALICE, task.task_id)

        assert actions(world) == [AuditAction.CREATED, AuditAction.ENDED]

    def test_a_cancel_before_the_confirmation_writes_an_entry_and_frees_the_slot(self) -> None:
        world = World(limits=Limits(active=1))
        task = unconfirmed(world)

        world.operations.cancel(ALICE, task.task_id)

        assert actions(world) == [AuditAction.CREATED, AuditAction.ENDED, AuditAction.CANCELLED]
        assert world.store.usage[ALICE].active == frozenset()

    def test_a_declined_confirmation_writes_an_end(self) -> None:
        world = World()
        task = unconfirmed(world)

        world.answers.respond(ALICE, task.task_id, {"confirm": {"action": "decline"}})

        assert world.audit[1:] == [ended(task, "completed_with_error", duration=timedelta())]


class TestRefusals:
    """T28: the name of an error, never its message."""

    @pytest.mark.parametrize("era", ["legacy", "modern"])
    @pytest.mark.parametrize(
        ("method", "params", "name"),
        [
            ("tools/call", {"name": "nowhere", "arguments": {}}, "UnknownTool"),
            ("tasks/get", {"taskId": "nobody's"}, "UnknownTask"),
            ("no/such", {}, "MethodNotFound"),
        ],
    )
    def test_a_refused_request_writes_an_entry(self, era: str, method: str, params: dict[str, Any], name: str) -> None:
        world = World()
        client = LegacyClient(world) if era == "legacy" else ModernClient(world)

        client.ask(method, params)

        assert world.audit == [AuditEntry(AuditAction.REFUSED, ALICE, outcome=name)]

    @pytest.mark.parametrize("method", ["GET", "DELETE"])
    def test_what_clients_send_with_each_connection_writes_no_entry(self, method: str) -> None:
        world = World()

        response = world.server.handle(HttpRequest(method, {"accept": "text/event-stream"}, b"", Caller(ALICE)))

        assert response.status == 405
        assert world.audit == []

    def test_a_call_at_a_limit_writes_an_entry(self) -> None:
        world = World(limits=Limits(active=1))
        modern = ModernClient(world)
        modern.start()

        modern.call("optional")

        assert world.audit[1:] == [AuditEntry(AuditAction.REFUSED, ALICE, outcome="LimitReached")]

    def test_a_refused_start_writes_an_entry(self) -> None:
        world = World()
        world.workflows.start_fault = StartRefused("secret words")

        ModernClient(world).call("optional")

        assert world.audit[-1] == AuditEntry(AuditAction.REFUSED, ALICE, outcome="WorkflowNotStarted")

    def test_an_unreadable_body_writes_an_entry(self) -> None:
        world = World()

        LegacyClient(world).ask("ping", headers={"content-type": "text/plain"})

        assert world.audit == [AuditEntry(AuditAction.REFUSED, ALICE, outcome="UnsupportedMediaType")]

    def test_arguments_that_a_model_can_correct_write_no_entry(self) -> None:
        """They are no protocol error and create no task."""
        world = World()

        ModernClient(world).call("optional", BAD_ARGUMENTS)

        assert AuditAction.CREATED not in actions(world)


def written(capsys: pytest.CaptureFixture[str], entry: AuditEntry) -> dict[str, Any]:
    """Write an entry, and parse its one line."""
    write_audit_entry(entry)
    (line,) = capsys.readouterr().out.splitlines()
    return json.loads(line)


class TestLines:
    """T28: lines of the log, from which CloudWatch makes metrics."""

    @pytest.fixture(autouse=True)
    def metrics_of_tools(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TOOL_METRICS", "on")

    def test_a_task_appears_by_its_id_when_callers_sign_in(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AUTHORIZER", "jwt")

        assert written(capsys, AuditEntry(AuditAction.CREATED, ALICE, "optional", "an id"))["task_id"] == "an id"

    def test_a_task_appears_as_a_digest_when_its_id_is_the_only_secret(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """T25; the digest is that of `printf %s ID | sha256sum | cut -c1-32`."""
        monkeypatch.setenv("AUTHORIZER", "none")

        line = written(capsys, AuditEntry(AuditAction.CREATED, ALICE, "optional", "an id"))

        assert "an id" not in json.dumps(line)
        assert line["task_digest"] == "5e92a53cfa80609c9bf3bdba331150ed"

    @pytest.mark.parametrize(
        ("action", "outcome", "metric"),
        [
            (AuditAction.CREATED, "working", "Created"),
            (AuditAction.ENDED, "completed", "Completed"),
            (AuditAction.ENDED, "completed_with_error", "Failed"),
            (AuditAction.ENDED, "failed", "Failed"),
            (AuditAction.ENDED, "cancelled", "Cancelled"),
            (AuditAction.EXPIRED, None, "Expired"),
            (AuditAction.REFUSED, "LimitReached", "Refused"),
            (AuditAction.RETRIEVED, "completed", "Retrieved"),
            (AuditAction.CANCELLED, "cancelled", "CancelRequests"),
            (AuditAction.POLLED, "working", "Polls"),
        ],
    )
    def test_an_entry_is_counted_by_tool(
        self, capsys: pytest.CaptureFixture[str], action: Audited, outcome: str | None, metric: str
    ) -> None:
        line = written(capsys, AuditEntry(action, ALICE, "optional", "the id", outcome))

        (counted,) = line["_aws"]["CloudWatchMetrics"]
        assert counted["Namespace"] == "Stepwire"
        assert "tool" in counted["Dimensions"][0]
        assert [one for one in counted["Metrics"] if one["Name"] != "ActiveChange"] == [
            {"Name": metric, "Unit": "Count"}
        ]
        assert (line["tool"], line[metric]) == ("optional", [1.0])

    @pytest.mark.parametrize(
        ("action", "change"),
        [
            (AuditAction.CREATED, [1.0]),
            (AuditAction.ENDED, [-1.0]),
            (AuditAction.EXPIRED, [-1.0]),
            (AuditAction.CANCELLED, None),
            (AuditAction.POLLED, None),
        ],
    )
    def test_creations_and_ends_add_up_to_the_active_tasks(
        self, capsys: pytest.CaptureFixture[str], action: Audited, change: list[float] | None
    ) -> None:
        line = written(capsys, AuditEntry(action, ALICE, "optional", "the id", "cancelled"))

        assert line.get("ActiveChange") == change

    @pytest.mark.parametrize(("source", "repaired"), [(EndSource.EVENT, [0.0]), (EndSource.CHECK, [1.0]), (None, None)])
    def test_ends_found_by_a_check_are_counted_as_repaired(
        self, capsys: pytest.CaptureFixture[str], source: EndSource | None, repaired: list[float] | None
    ) -> None:
        line = written(
            capsys, AuditEntry(AuditAction.ENDED, ALICE, "optional", "the id", "completed", HOW_LONG, source)
        )

        assert line.get("Repaired") == repaired
        assert line.get("source") == (source.value if source else None)

    def test_log_lines_identify_their_stack(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        services: list[str] = []
        for stack in ("stepwire", "stepwire-dev"):
            monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", stack)
            line = written(capsys, AuditEntry(AuditAction.CREATED, ALICE, "optional", "the id", "working"))
            (counted,) = line["_aws"]["CloudWatchMetrics"]
            assert set(counted["Dimensions"][0]) == {"service", "tool"}
            services.append(line["service"])

        assert services == ["stepwire", "stepwire-dev"]

    def test_an_end_has_the_duration_of_the_task(self, capsys: pytest.CaptureFixture[str]) -> None:
        line = written(capsys, AuditEntry(AuditAction.ENDED, ALICE, "optional", "the id", "completed", HOW_LONG))

        assert {"Name": "Duration", "Unit": "Seconds"} in line["_aws"]["CloudWatchMetrics"][0]["Metrics"]
        assert line["Duration"] == [90.0]

    def test_a_line_names_only_the_caller_and_the_task(self, capsys: pytest.CaptureFixture[str]) -> None:
        line = written(capsys, AuditEntry(AuditAction.ENDED, ALICE, "optional", "the id", "completed", HOW_LONG))

        told = {name: line[name] for name in ("audit", "principal", "task_id", "outcome")}
        assert told == {"audit": "ended", "principal": ALICE, "task_id": "the id", "outcome": "completed"}
        assert line.keys() - told.keys() <= {
            "_aws",
            "service",
            "tool",
            "audit_version",
            "at",
            "Completed",
            "Duration",
            "ActiveChange",
        }

    def test_unknown_fields_are_left_out(self, capsys: pytest.CaptureFixture[str]) -> None:
        line = written(capsys, AuditEntry(AuditAction.REFUSED, ALICE, outcome="UnknownTask"))

        assert line["tool"] == "-"
        assert "task_id" not in line

    def test_log_lines_share_no_metrics(self, capsys: pytest.CaptureFixture[str]) -> None:
        written(capsys, AuditEntry(AuditAction.CREATED, ALICE, "optional", "the id"))

        line = written(capsys, AuditEntry(AuditAction.REFUSED, ALICE, outcome="UnknownTask"))

        assert "Created" not in line
        assert "task_id" not in line
