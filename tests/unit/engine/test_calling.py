"""Calling a tool: write, start, answer; and failures in between."""

from datetime import timedelta

import pytest

from stepwire.catalog.tools import Caller, Tool
from stepwire.engine.calls import checked_arguments
from stepwire.engine.upkeep import Intervals
from stepwire.errors import StartRefused, StartRefusedForNow, StartUnclear, WorkflowNotStarted
from stepwire.json_text import JsonObject, write
from stepwire.schemas.validation import Violation
from stepwire.tasks.limiter import Limits
from stepwire.tasks.task import LARGEST_INPUT, Cancelled, Execution, Failed, Working
from tests.fake_workflows import FakeWorkflows, Start
from tests.kits import ALICE, ARGUMENTS, OPTIONAL, STRUCTURED, World

REPAIR_AFTER = Intervals().repair
INPUT = write(ARGUMENTS)


def faults_of(tool: Tool, arguments: JsonObject) -> tuple[Violation, ...]:
    """Return why the arguments of a call are refused."""
    return checked_arguments(tool, arguments, LARGEST_INPUT, Caller(ALICE)).faults


class TestCall:
    def test_returns_a_working_task_that_can_be_read(self) -> None:
        """T9, X8."""
        world = World()

        task = world.call()

        assert task.status == Working()
        assert world.operations.get(ALICE, task.task_id) == task

    def test_starts_the_execution_with_the_arguments(self) -> None:
        world = World()

        task = world.call()

        assert world.workflows.starts == [
            Start(Execution(OPTIONAL.plan.runs[0].state_machine_arn, task.execution.name), INPUT)
        ]

    def test_writes_the_task_before_it_starts_the_work(self) -> None:
        """X8: a task is durable before anything depends on it."""
        there_at_the_start: list[bool] = []

        class Watching(FakeWorkflows):
            def start(self, execution: Execution, input_text: str, trace_header: str | None = None) -> None:
                there_at_the_start.append(bool(world.store.tasks))
                super().start(execution, input_text, trace_header)

        world = World(workflows=Watching())

        world.call()

        assert there_at_the_start == [True]

    def test_costs_two_writes_and_one_start(self) -> None:
        world = World()

        world.call()

        assert world.store.calls == ["reserve", "create"]
        assert len(world.workflows.starts) == 1
        assert world.workflows.described == []

    def test_stores_what_is_needed_to_interpret_the_end_later(self) -> None:
        world = World()

        task = world.call(STRUCTURED)

        assert world.terms_of(task).output_schema == STRUCTURED.output_schema
        assert task.poll_interval == STRUCTURED.poll_interval

    @pytest.mark.parametrize(
        ("asked_ms", "granted"),
        [
            (None, OPTIONAL.ttl),
            (1, OPTIONAL.ttl),
            (3_600_000, OPTIONAL.ttl),
            (3_600_001, OPTIONAL.ttl + timedelta(milliseconds=1)),
            (7 * 24 * 3_600_000, timedelta(days=7)),
            (2**53 - 1, Limits().ttl),
        ],
    )
    def test_grants_the_requested_ttl_between_the_tools_own_and_the_limit(
        self, asked_ms: int | None, granted: timedelta
    ) -> None:
        """T12, T27."""
        assert World().call(ttl_ms=asked_ms).ttl == granted

    @pytest.mark.parametrize(
        ("longest", "granted"),
        [(OPTIONAL.ttl * 2, OPTIONAL.ttl * 2), (OPTIONAL.ttl / 2, OPTIONAL.ttl)],
        ids=["more than the tool's own", "less"],
    )
    def test_grants_at_most_the_operators_limit_but_at_least_the_tools_ttl(
        self, longest: timedelta, granted: timedelta
    ) -> None:
        """T27."""
        assert World(limits=Limits(ttl=longest)).call(ttl_ms=2**53 - 1).ttl == granted


class TestAStartThatIsRefused:
    def test_leaves_no_task_and_names_the_tool_and_the_reason(self) -> None:
        world = World()
        world.workflows.start_fault = StartRefused("its state machine no longer exists")

        with pytest.raises(WorkflowNotStarted) as refused:
            world.call()

        assert refused.value.message == (
            "The workflow of optional could not be started: its state machine no longer exists"
        )
        assert world.store.tasks == {}

    def test_during_a_repair_fails_the_task(self) -> None:
        """X12: the client has the task id, so the task shows the failure."""
        world = World()
        task = world.overdue()
        world.workflows.states.clear()
        world.workflows.start_fault = StartRefused("its state machine no longer exists")

        after = world.operations.get(ALICE, task.task_id)

        assert isinstance(after.status, Failed)
        assert after.status.error.code == -32603
        assert after.status.message == "The workflow could not be started: its state machine no longer exists"


class TestAStartThatIsUnclear:
    @pytest.mark.parametrize("begun", [True, False])
    def test_keeps_the_task_and_gives_its_handle(self, *, begun: bool) -> None:
        world = World()
        world.workflows.start_fault, world.workflows.begins_unclear_starts = StartUnclear(), begun

        task = world.call()

        assert world.stored(task) == task
        assert task.status == Working()
        assert world.troubles == [world.workflows.start_fault]

    @pytest.mark.parametrize("begun", [True, False])
    def test_is_repaired_by_the_next_reader_and_runs_once(self, *, begun: bool) -> None:
        world = World()
        world.workflows.start_fault, world.workflows.begins_unclear_starts = StartUnclear(), begun
        task = world.call()
        world.workflows.start_fault = None
        world.clock.time += REPAIR_AFTER

        world.operations.get(ALICE, task.task_id)

        assert world.workflows.starts == [Start(task.execution, INPUT)] * 2
        assert world.workflows.running() == (task.execution,)

    @pytest.mark.parametrize("fault", [StartUnclear(), StartRefusedForNow("too much")], ids=["unclear", "too much"])
    def test_that_fails_again_temporarily_is_repaired_by_a_later_reader(
        self, fault: StartUnclear | StartRefused
    ) -> None:
        world = World()
        world.workflows.start_fault = StartUnclear()
        task = world.call()
        world.workflows.start_fault = fault
        world.clock.time += REPAIR_AFTER
        assert world.operations.get(ALICE, task.task_id).status == Working()
        world.workflows.start_fault = None
        world.clock.time += REPAIR_AFTER

        world.operations.get(ALICE, task.task_id)

        assert world.workflows.running() == (task.execution,)

    def test_leaves_nothing_running_when_the_task_is_cancelled_while_a_reader_repairs_it(self) -> None:
        """T23: a cancelled task stays cancelled, and its execution does not run."""
        world = World()
        world.workflows.start_fault = StartUnclear()
        task = world.call()
        world.workflows.start_fault = None
        world.clock.time += REPAIR_AFTER
        world.workflows.on_start = lambda: (world.operations.cancel(ALICE, task.task_id), None)[1]

        after = world.operations.get(ALICE, task.task_id)

        assert isinstance(after.status, Cancelled)
        assert world.workflows.running() == ()


class TestFaultsOfArguments:
    @pytest.mark.parametrize(
        "text",
        ["x" * LARGEST_INPUT, "\N{EURO SIGN}" * (LARGEST_INPUT // 3), '"' * (LARGEST_INPUT // 2)],
        ids=lambda text: text[0],
    )
    def test_include_arguments_larger_than_a_workflow_accepts(self, text: str) -> None:
        (fault,) = faults_of(OPTIONAL, {"text": text})

        assert "larger than 262144 bytes" in str(fault)

    def test_exclude_arguments_of_the_largest_accepted_size(self) -> None:
        text = "x" * (LARGEST_INPUT - len('{"text":""}'))

        assert faults_of(OPTIONAL, {"text": text}) == ()
