"""A whole Stepwire on the simulated account: the real adapters, a process that may die, and the world in a test's hand.

A process is one set of our objects; nothing of it outlives it. The one state of every workflow waits for a test, which
so decides when an execution ends; and no status change reaches anybody until a test delivers it. DynamoDB and Secrets
Manager are moto's; Step Functions and EventBridge are simulated here, for moto's have threads and a clock of their own.
"""

import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final, cast
from unittest.mock import patch

from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from local.account.engine import shared_account
from local.account.isolation import REGION
from local.iam.clients import aws_client
from stepwire.aws.publishing.outbox import StatusChangesHandler
from stepwire.aws.secrets_manager import Secret
from stepwire.aws.storage.items import item_key, task_of
from stepwire.aws.storage.task_store import DynamoDbTaskStore, usage_of
from stepwire.aws.storage.wait_slots import DynamoDbWaitSlots
from stepwire.aws.workflows.nested import NestedExecutions
from stepwire.aws.workflows.step_functions import StepFunctionsWorkflows, execution_arn_of, execution_of, state_of
from stepwire.background.execution_events import ExecutionEvents, ExecutionStatusChange
from stepwire.background.expirations import Expirations
from stepwire.background.input_requests import InputRequests
from stepwire.background.sweep import Sweep
from stepwire.engine.dialogue import Dialogue
from stepwire.engine.operations import Operations
from stepwire.engine.polls import PollLimit
from stepwire.engine.recorder import Recorder
from stepwire.engine.upkeep import Intervals, Upkeep
from stepwire.engine.waiting import Waiting, WaitLimiter, WaitLimits
from stepwire.server.kit import Kit, Patience
from stepwire.server.mcp_server import McpServer
from stepwire.tasks.ids import TaskId
from stepwire.tasks.outcomes import ExecutionState
from stepwire.tasks.task import Execution, Task
from stepwire.tasks.usage import Limits
from tests.fakes import FixedClock, counting
from tests.faults.boundary import Boundary, impatient
from tests.kits import CONFIRMED, EXECUTION_PREFIX, OPTIONAL, RESUMING, catalog_of, signed_url, state_machine_arn
from tests.simulated import dynamodb
from tests.simulated.step_functions import OneStateThatWaits
from tests.simulated.wire import answered
from tests.tables import new_table, table_behind

INTERVALS: Final = Intervals()
SWEEP: Final = Intervals().repair * 15
"""SweepMinutes, as the template has it."""
TTL: Final = timedelta(days=1)


@dataclass
class Account:
    """The account that all sites of a test run share, and the way to it that meets no fault."""

    boundary: Boundary = field(default_factory=Boundary)

    def __post_init__(self) -> None:
        self.tables: Any = aws_client("dynamodb", REGION)
        self.table = new_table()
        secret = {"Name": "faults", "SecretString": "a secret of the tests"}
        self.secret: str = aws_client("secretsmanager", REGION).create_secret(**secret)["ARN"]


@contextmanager
def simulated_account() -> Generator[Account]:
    """Open the account."""
    with shared_account(), impatient(), patch.dict(os.environ, EVENT_BUS="default"):
        yield Account()


class Process:
    """What the functions are made of, from their start to their death."""

    def __init__(self, site: "Site", limits: Limits) -> None:
        boundary = site.account.boundary
        store = DynamoDbTaskStore(site.table, lambda: boundary.dynamodb)
        workflows = StepFunctionsWorkflows(lambda: boundary.step_functions)
        report = site.troubles.append
        self.recorder = Recorder(store, site.clock)
        upkeep = Upkeep(self.recorder, workflows, INTERVALS, report)
        wait_slots = DynamoDbWaitSlots(site.table, lambda: boundary.dynamodb)
        limiter = WaitLimiter(wait_slots, WaitLimits(), site.randomness, report)
        waiting = Waiting(self.recorder, upkeep, limiter, report)
        self.operations = Operations(
            self.recorder, workflows, site.randomness, upkeep, limits, signed_url, report, waiting, EXECUTION_PREFIX
        )
        self.dialogue = Dialogue(self.recorder, upkeep, report)
        kit = Kit(
            site.catalog,
            self.operations,
            self.dialogue,
            # A day for a call: what is judged is how a stream goes on, and repairs take longer than a call's 50 s.
            Patience(*[site.no_time] * 3, whole_call=timedelta(days=1)),
            Secret(site.account.secret, lambda: boundary.secrets),
            RESUMING,
            PollLimit(0, site.clock),
            report,
        )
        self.server = McpServer(kit, frozenset(), report)
        patient_store = DynamoDbTaskStore(site.table, lambda: boundary.patient_dynamodb)
        patient_recorder = Recorder(patient_store, site.clock)
        patient_workflows = StepFunctionsWorkflows(lambda: boundary.patient_step_functions)
        self.events = ExecutionEvents(patient_recorder, patient_workflows)
        self.requests = InputRequests(
            patient_recorder, patient_workflows, NestedExecutions(lambda: boundary.patient_step_functions)
        )
        self.expirations = Expirations(patient_store, patient_workflows)
        sweepers = Upkeep(self.recorder, workflows, Intervals(SWEEP, site.no_time), report)
        self.sweep = Sweep(self.recorder, sweepers, self.expirations, SWEEP, report)
        self.outbox = StatusChangesHandler(lambda: boundary.events)


@dataclass
class Site:
    """One stack, fresh for each case. It is an endpoint for the clients of `tests.server.clients`."""

    account: Account
    limits: Limits = field(default_factory=Limits)
    clock: FixedClock = field(default_factory=FixedClock)
    troubles: list[Exception] = field(default_factory=list[Exception])
    """Every fault that was reported."""

    handles: set[str] = field(default_factory=set[str])
    """The ids of tasks that clients were given."""
    outputs: dict[Execution, Any] = field(default_factory=dict[Execution, Any])
    """What executions end with, by what was acknowledged to whoever gave it."""

    def __post_init__(self) -> None:
        self.no_time = INTERVALS.repair * 0
        self.table, self.machine = self.account.table, state_machine_arn("Waits")
        self.step_functions = OneStateThatWaits(self.clock)
        self.account.boundary.services = {
            "dynamodb": dynamodb.answer,
            "sfn": self.step_functions.answer,
            "eventbridge": self._hear,
        }
        self.randomness = counting()
        self.heard = set[str]()
        """The ids of the tasks of which the event bus has been told something."""
        tools = [replace(tool, state_machine_arn=self.machine, ttl=TTL) for tool in (OPTIONAL, CONFIRMED)]
        self.catalog = catalog_of(*tools)
        self.process = Process(self, self.limits)

    @property
    def server(self) -> McpServer:
        """What answers requests now."""
        return self.process.server

    def restart(self, limits: Limits | None = None) -> None:
        """Go on with a new process."""
        self.process = Process(self, limits or self.limits)

    def close(self) -> None:
        """Leave nothing in the account."""
        self._table.items.clear()

    # What is so, whoever looks; these calls meet no fault.

    @property
    def _table(self) -> Any:
        return table_behind(self.table)

    @property
    def items(self) -> list[dict[str, Any]]:
        """Everything that the table holds."""
        return [item.to_json()["Attributes"] for item in self._table.all_items()]

    def tasks(self) -> dict[str, Task]:
        """Give the tasks, by the ARN of their execution."""
        found = (task_of(item) for item in self.items if item["sk"]["S"].startswith("task#"))
        return {execution_arn_of(task.execution): task for task in found}

    def task(self) -> Task:
        """Give the task, where there is one."""
        (task,) = self.tasks().values()
        return task

    def slots(self) -> frozenset[TaskId]:
        """Give the ids of the tasks that are counted as active."""
        return frozenset(one for item in self.items if item["sk"]["S"] == "usage" for one in usage_of(item).active)

    def executions(self) -> dict[str, str]:
        """Give how each execution stands, by its ARN."""
        return {arn: one.status for arn, one in self.step_functions.executions.items()}

    def state(self, arn: str) -> ExecutionState:
        """Give how an execution stands, with what it ended with."""
        known = self.step_functions.executions[arn]
        return state_of({"status": known.status, **known.end})

    def is_quiet(self) -> bool:
        """Tell whether no execution runs."""
        return not self.step_functions.running()

    # What happens in the world.

    def token(self) -> str:
        """Give the callback token of the one state that waits."""
        (token,) = self.step_functions.states
        return token

    def succeed(self, output: Any) -> None:
        """Let every workflow that waits end with an output."""
        for arn in self.step_functions.running():
            self.step_functions.end(arn, "SUCCEEDED", {"output": json.dumps(output)})

    def _hear(self, operation: str, request: AWSPreparedRequest) -> AWSResponse:
        """Take what the event bus is told."""
        assert operation == "PutEvents"
        entries = json.loads(cast(Any, request.body))["Entries"]
        self.heard |= {json.loads(entry["Detail"])["task_id"] for entry in entries}
        return answered(request, 200, {"FailedEntryCount": 0, "Entries": [{"EventId": "1"} for _ in entries]})

    def deliver(self) -> None:
        """Bring the status changes of all executions that have ended, whether they were brought before or not."""
        for arn in self.executions():
            self.process.events.record(ExecutionStatusChange(execution_of(arn), self.state(arn)))

    def sweep(self) -> None:
        """Let the next run of the sweep come."""
        self.clock.time += SWEEP
        self.process.sweep.run()

    def remove(self, task: Task) -> None:
        """Let DynamoDB remove a task whose time is over."""
        self.account.tables.delete_item(TableName=self.table, Key=item_key(task.key))
