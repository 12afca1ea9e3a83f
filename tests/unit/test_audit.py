"""What is written down: one entry for each thing that was done, and nothing in it that a caller has sent."""

import json
from datetime import timedelta
from typing import Any

import pytest

from stepwire.audit import Action, Entry, Source
from stepwire.aws.audit import write_down
from stepwire.errors import StartRefused, TaskAlreadyEnded
from stepwire.json_text import Json
from stepwire.operations import ToolCall, key_of
from stepwire.tasks.task import Origin, Task
from stepwire.tasks.usage import Limits
from tests.kits import ALICE, ARGUMENTS, BAD_ARGUMENTS, BOTH_MODES, CONFIRMED, OPTIONAL, OUTPUT, STRUCTURED, World
from tests.server.clients import LegacyClient, ModernClient

HOW_LONG = timedelta(seconds=90)


def created(task: Task) -> Entry:
    return Entry(Action.CREATED, ALICE, task.work.tool, task.task_id, "working")


def ended(task: Task, outcome: str, source: Source | None = None, duration: timedelta = HOW_LONG) -> Entry:
    return Entry(Action.ENDED, ALICE, task.work.tool, task.task_id, outcome, duration, source)


def actions(world: World) -> list[Action]:
    return [entry.action for entry in world.audit]


def unconfirmed(world: World) -> Task:
    """Call a tool that asks first."""
    assert CONFIRMED.confirmation is not None
    call = ToolCall(ALICE, CONFIRMED, ARGUMENTS, None, Origin(BOTH_MODES))
    return world.operations.ask_first(call, CONFIRMED.confirmation)


class TestEntries:
    """T28."""

    def test_a_creation_is_one(self) -> None:
        world = World()

        task = world.call()

        assert world.audit == [created(task)]

    def test_a_call_that_is_repeated_is_no_creation(self) -> None:
        world = World()
        call = ToolCall(ALICE, OPTIONAL, ARGUMENTS, key=key_of("order-7", OPTIONAL, ARGUMENTS))

        for _ in range(3):
            world.operations.once(call, lambda task_id: world.operations.call(call, task_id))

        assert actions(world).count(Action.CREATED) == 1

    @pytest.mark.parametrize(
        ("output", "outcome"), [(OUTPUT, "completed"), ({"answer": "none"}, "completed_with_error")]
    )
    def test_an_end_is_one_with_its_outcome_and_its_duration(self, output: Json, outcome: str) -> None:
        world = World()
        task = world.call(STRUCTURED)
        world.clock.time += HOW_LONG

        world.succeed(task.task_id, output)

        assert world.audit[1:] == [ended(task, outcome, Source.EVENT)]

    def test_a_workflow_that_fails_is_an_end(self) -> None:
        world = World()
        task = world.call()
        world.clock.time += HOW_LONG

        world.fail(task.task_id)

        assert world.audit[1:] == [ended(task, "completed_with_error", Source.EVENT)]

    def test_an_end_that_a_reader_finds_out_is_one_and_says_so(self) -> None:
        world = World()
        task = world.overdue()
        world.workflows.succeed(task.execution, OUTPUT)

        world.operations.get(ALICE, task.task_id)
        world.deliver()

        ends = [entry for entry in world.audit if entry.action is Action.ENDED]
        assert [(end.outcome, end.source) for end in ends] == [("completed", Source.LOOK)]

    def test_an_end_is_one_however_often_it_is_told(self) -> None:
        world = World()
        task = world.call()
        world.workflows.succeed(task.execution, OUTPUT)
        world.workflows.undelivered *= 3

        world.deliver()

        assert actions(world) == [Action.CREATED, Action.ENDED]

    def test_a_look_is_counted(self) -> None:
        world = World()
        task = world.call()

        for _ in range(3):
            world.operations.get(ALICE, task.task_id)

        assert world.audit[1:] == [Entry(Action.POLLED, ALICE, "optional", task.task_id, "working")] * 3

    @pytest.mark.parametrize("era", ["legacy", "modern"])
    def test_a_result_that_is_fetched_is_one(self, era: str) -> None:
        world = World()
        task = world.call()
        world.succeed(task.task_id, OUTPUT)
        world.audit.clear()

        if era == "legacy":
            LegacyClient(world).task("result", task.task_id)
        else:
            ModernClient(world).task("get", task.task_id)

        retrieved = [entry for entry in world.audit if entry.action is Action.RETRIEVED]
        assert retrieved == [Entry(Action.RETRIEVED, ALICE, "optional", task.task_id, "completed")]

    def test_a_cancel_is_one_besides_the_end(self) -> None:
        world = World()
        task = world.call()
        world.clock.time += HOW_LONG

        world.operations.cancel(ALICE, task.task_id)
        world.deliver()

        cancelled = Entry(Action.CANCELLED, ALICE, "optional", task.task_id, "cancelled")
        assert world.audit[1:] == [ended(task, "cancelled"), cancelled]

    def test_a_cancel_that_comes_too_late_is_none(self) -> None:
        world = World()
        task = world.call()
        world.succeed(task.task_id, OUTPUT)

        with pytest.raises(TaskAlreadyEnded):
            world.operations.cancel(ALICE, task.task_id)

        assert actions(world) == [Action.CREATED, Action.ENDED]

    def test_a_cancel_before_the_confirmation_is_one_and_frees_the_slot(self) -> None:
        world = World(limits=Limits(active=1))
        task = unconfirmed(world)

        world.operations.cancel(ALICE, task.task_id)

        assert actions(world) == [Action.CREATED, Action.ENDED, Action.CANCELLED]
        assert world.store.usage[ALICE].active == frozenset()

    def test_a_confirmation_that_is_declined_is_an_end(self) -> None:
        world = World()
        task = unconfirmed(world)

        world.dialogue.respond(ALICE, task.task_id, {"confirm": {"action": "decline"}})

        assert world.audit[1:] == [ended(task, "completed_with_error", duration=timedelta())]


class TestRefusals:
    """T28: the name of an error, never its words."""

    @pytest.mark.parametrize("era", ["legacy", "modern"])
    @pytest.mark.parametrize(
        ("method", "params", "name"),
        [
            ("tools/call", {"name": "nowhere", "arguments": {}}, "UnknownTool"),
            ("tasks/get", {"taskId": "nobody's"}, "UnknownTask"),
            ("no/such", {}, "MethodNotFound"),
        ],
    )
    def test_a_refusal_is_one(self, era: str, method: str, params: dict[str, Any], name: str) -> None:
        world = World()
        client = LegacyClient(world) if era == "legacy" else ModernClient(world)

        client.ask(method, params)

        assert world.audit == [Entry(Action.REFUSED, ALICE, outcome=name)]

    def test_a_limit_is_one(self) -> None:
        world = World(limits=Limits(active=1))
        modern = ModernClient(world)
        modern.start()

        modern.call("optional")

        assert world.audit[1:] == [Entry(Action.REFUSED, ALICE, outcome="LimitReached")]

    def test_a_workflow_that_cannot_be_started_is_one(self) -> None:
        world = World()
        world.workflows.start_fault = StartRefused("secret words")

        ModernClient(world).call("optional")

        assert world.audit[-1] == Entry(Action.REFUSED, ALICE, outcome="WorkflowNotStarted")

    def test_a_body_that_cannot_be_read_is_one(self) -> None:
        world = World()

        LegacyClient(world).ask("ping", headers={"content-type": "text/plain"})

        assert world.audit == [Entry(Action.REFUSED, ALICE, outcome="UnsupportedMediaType")]

    def test_arguments_that_a_model_can_correct_leave_nothing(self) -> None:
        """They are no error of the protocol, and no task."""
        world = World()

        ModernClient(world).call("optional", BAD_ARGUMENTS)

        assert Action.CREATED not in actions(world)


def written(capsys: pytest.CaptureFixture[str], entry: Entry) -> dict[str, Any]:
    """Write an entry down and read the one line of it."""
    write_down(entry)
    (line,) = capsys.readouterr().out.splitlines()
    return json.loads(line)


class TestLines:
    """T28: a line of the log, which CloudWatch counts."""

    def test_a_task_is_named_by_its_id_where_callers_are_known(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AUTHORIZER", "jwt")

        assert written(capsys, Entry(Action.CREATED, ALICE, "optional", "an id"))["task_id"] == "an id"

    def test_a_task_is_named_by_a_digest_where_its_id_is_all_that_one_needs_to_have_it(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """T25; the digest is that of `printf %s ID | sha256sum | cut -c1-32`."""
        monkeypatch.setenv("AUTHORIZER", "none")

        line = written(capsys, Entry(Action.CREATED, ALICE, "optional", "an id"))

        assert "an id" not in json.dumps(line)
        assert line["task_digest"] == "5e92a53cfa80609c9bf3bdba331150ed"

    @pytest.mark.parametrize(
        ("action", "outcome", "metric"),
        [
            (Action.CREATED, "working", "Created"),
            (Action.ENDED, "completed", "Completed"),
            (Action.ENDED, "completed_with_error", "Failed"),
            (Action.ENDED, "failed", "Failed"),
            (Action.ENDED, "cancelled", "Cancelled"),
            (Action.EXPIRED, None, "Expired"),
            (Action.REFUSED, "LimitReached", "Refused"),
            (Action.RETRIEVED, "completed", "Retrieved"),
            (Action.CANCELLED, "cancelled", "CancelRequests"),
            (Action.POLLED, "working", "Polls"),
        ],
    )
    def test_an_entry_is_counted_by_tool(
        self, capsys: pytest.CaptureFixture[str], action: Action, outcome: str | None, metric: str
    ) -> None:
        line = written(capsys, Entry(action, ALICE, "optional", "the id", outcome))

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
            (Action.CREATED, [1.0]),
            (Action.ENDED, [-1.0]),
            (Action.EXPIRED, [-1.0]),
            (Action.CANCELLED, None),
            (Action.POLLED, None),
        ],
    )
    def test_what_begins_and_what_ends_adds_up_to_what_is_active(
        self, capsys: pytest.CaptureFixture[str], action: Action, change: list[float] | None
    ) -> None:
        line = written(capsys, Entry(action, ALICE, "optional", "the id", "cancelled"))

        assert line.get("ActiveChange") == change

    @pytest.mark.parametrize(("source", "repaired"), [(Source.EVENT, [0.0]), (Source.LOOK, [1.0]), (None, None)])
    def test_of_the_ends_of_executions_those_that_were_not_reported_are_counted(
        self, capsys: pytest.CaptureFixture[str], source: Source | None, repaired: list[float] | None
    ) -> None:
        line = written(capsys, Entry(Action.ENDED, ALICE, "optional", "the id", "completed", HOW_LONG, source))

        assert line.get("Repaired") == repaired
        assert line.get("source") == (source.value if source else None)

    def test_the_lines_of_two_stacks_are_told_apart(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        services: list[str] = []
        for stack in ("stepwire", "stepwire-dev"):
            monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", stack)
            line = written(capsys, Entry(Action.CREATED, ALICE, "optional", "the id", "working"))
            (counted,) = line["_aws"]["CloudWatchMetrics"]
            assert set(counted["Dimensions"][0]) == {"service", "tool"}
            services.append(line["service"])

        assert services == ["stepwire", "stepwire-dev"]

    def test_an_end_says_how_long_the_task_took(self, capsys: pytest.CaptureFixture[str]) -> None:
        line = written(capsys, Entry(Action.ENDED, ALICE, "optional", "the id", "completed", HOW_LONG))

        assert {"Name": "Duration", "Unit": "Seconds"} in line["_aws"]["CloudWatchMetrics"][0]["Metrics"]
        assert line["Duration"] == [90.0]

    def test_a_line_names_the_caller_and_the_task_and_holds_nothing_else(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        line = written(capsys, Entry(Action.ENDED, ALICE, "optional", "the id", "completed", HOW_LONG))

        told = {name: line[name] for name in ("audit", "principal", "task_id", "outcome")}
        assert told == {"audit": "ended", "principal": ALICE, "task_id": "the id", "outcome": "completed"}
        assert line.keys() - told.keys() <= {"_aws", "service", "tool", "Completed", "Duration", "ActiveChange"}

    def test_what_is_not_known_is_left_out(self, capsys: pytest.CaptureFixture[str]) -> None:
        line = written(capsys, Entry(Action.REFUSED, ALICE, outcome="UnknownTask"))

        assert line["tool"] == "-"
        assert "task_id" not in line

    def test_lines_know_nothing_of_each_other(self, capsys: pytest.CaptureFixture[str]) -> None:
        written(capsys, Entry(Action.CREATED, ALICE, "optional", "the id"))

        line = written(capsys, Entry(Action.REFUSED, ALICE, outcome="UnknownTask"))

        assert "Created" not in line
        assert "task_id" not in line
