"""A whole Stepwire on the simulated account: the real adapters, a process that may die, and events that a test
delivers.

A process is one set of our objects; nothing of it survives its death. The only state of each workflow waits for a test,
which decides when an execution ends and delivers its status change. DynamoDB and Secrets Manager are simulated by moto;
Step Functions and EventBridge are simulated here, because moto's have their own threads and clock.
"""

import hashlib
import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, Final, cast
from unittest.mock import patch

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from msgspec.structs import replace

from stepwire.aws.bootstrap import gate_of, routers_of
from stepwire.aws.clients import is_weather
from stepwire.aws.queues import SqsWakeUps, wake_up_of
from stepwire.aws.s3 import LargeResults, Objects
from stepwire.aws.secrets_manager import Secret
from stepwire.aws.status_changes_function import StatusChangesHandler
from stepwire.aws.step_functions import StepFunctionsWorkflows, execution_arn_of, execution_of, state_of
from stepwire.aws.storage.items import item_key, task_of
from stepwire.aws.storage.limiter import USAGE, DynamoDbWaitSlots, usage_of
from stepwire.aws.storage.table import Table
from stepwire.aws.storage.task_store import task_store
from stepwire.aws.workflow_events import NestedExecutions
from stepwire.background.execution_events import ExecutionEvents, ExecutionStatusChange
from stepwire.background.expirations import Expirations
from stepwire.background.input_requests import InputRequests
from stepwire.background.sweep import INTERVAL, Sweep
from stepwire.composition import EXTRAS
from stepwire.engine.assembly import Ports, Settings, assemble
from stepwire.engine.limiter import PollLimit
from stepwire.engine.upkeep import Intervals
from stepwire.hooks import Ground
from stepwire.json_text import write
from stepwire.server.mcp_server import McpServer
from stepwire.server.services import Patience, Services
from stepwire.tasks.limiter import Limits
from stepwire.tasks.outcomes import ExecutionState
from stepwire.tasks.runs import Retry
from stepwire.tasks.task import Execution, Task
from stepwire_local.account.engine import shared_account
from stepwire_local.account.isolation import REGION
from stepwire_local.iam.clients import aws_client
from tests.buckets import fill_again, new_bucket, objects_in
from tests.extras import parts
from tests.fakes import FixedClock, counting
from tests.faults.boundary import Boundary, without_retry_delays
from tests.kits import (
    CONFIRMED,
    EXECUTION_PREFIX,
    OPTIONAL,
    PARTS,
    RESUMING,
    catalog_of,
    plan_of,
    signed_url,
    state_machine_arn,
)
from tests.races import racing
from tests.simulated import dynamodb
from tests.simulated.step_functions import OneStateThatWaits, StepFunctions
from tests.simulated.wire import answered
from tests.tables import new_table, table_behind

INTERVALS: Final = Intervals()
SWEEP: Final = INTERVAL
TTL: Final = timedelta(days=1)
VISIBILITY: Final = timedelta(minutes=9)
"""After which a message of the queue of webhooks comes again, as the template has it."""
DELAY: Final = timedelta(minutes=2)
"""The time between a failure and the next attempt."""
RETRY: Final = Retry(3, ("OutOfStock",), delay=DELAY, backoff=1.0)
RESTARTED: Final = replace(OPTIONAL, name="restarted", retry=RETRY)
AT_ONCE: Final = replace(OPTIONAL, name="at_once", retry=replace(RETRY, delay=timedelta()))
REDRIVEN: Final = replace(OPTIONAL, name="redriven", retry=replace(RETRY, redrives=True))
LEFT: Final = {"text": "é" * 100}
"""What a workflow leaves in S3 as its output."""
LEAVING: Final = replace(OPTIONAL, name="leaving", output_shape=write({"object": "left"}))
"""Its workflow leaves its output in S3."""
WAKE_UPS: Final = "https://sqs.eu-central-1.amazonaws.com/123456789012/wake-ups"
RACING: Final = racing(2)
DELAYED: Final = replace(racing(2, 0, DELAY.total_seconds()), name="delayed")
"""Its second arm starts later."""
_OF_EXTRAS: Final = {part.__name__.split(".")[2]: part.TOOLS for part in parts("faulty_tools")}
"""The tools of extras, by the names of these; no others are on."""
Json = dict[str, Any]


@dataclass
class Account:
    """The account that all cases share, and a client for it that gets no faults."""

    boundary: Boundary = field(default_factory=Boundary)

    def __post_init__(self) -> None:
        self.tables: Any = aws_client("dynamodb", REGION)
        self.objects: Any = aws_client("s3", REGION)
        self.table = new_table()
        self.large_results, self.reports = new_bucket(), new_bucket("reports")
        secret = {"Name": "faults", "SecretString": "a secret of the tests"}
        self.secret: str = aws_client("secretsmanager", REGION).create_secret(**secret)["ARN"]


@contextmanager
def simulated_account() -> Generator[Account]:
    """Open the account."""
    with (
        shared_account(),
        without_retry_delays(),
        patch.dict(os.environ, EVENT_BUS="default", EXTRAS=",".join(_OF_EXTRAS)),
    ):
        account = Account()
        os.environ["TABLE_NAME"] = account.table  # until the end, as the others
        yield account


def _is_no_weather(_fault: Exception) -> bool:
    return False


class Process:
    """The objects of the functions, from their start to their death."""

    def __init__(self, site: "Site", limits: Limits) -> None:
        boundary = site.account.boundary
        large_results = LargeResults(site.account.large_results, boundary.objects)
        objects = Objects(lambda: boundary.objects)
        report = site.troubles.append
        ports = Ports(
            task_store(Table(site.table, lambda: boundary.dynamodb), lambda: large_results),
            StepFunctionsWorkflows(lambda: boundary.step_functions),
            site.clock,
            site.randomness,
            DynamoDbWaitSlots(Table(site.table, lambda: boundary.dynamodb)),
            signed_url,
            report,
            wake_ups=SqsWakeUps(WAKE_UPS, lambda: boundary.queue),
            read_object=objects.read,
            gate=gate_of(EXTRAS, Table(site.table, lambda: boundary.dynamodb)),
            routers=routers_of(EXTRAS),
        )
        self.engine = assemble(ports, Settings(INTERVALS, limits, execution_prefix=EXECUTION_PREFIX))
        self.recorder, self.operations, self.answers = (
            self.engine.recorder,
            self.engine.operations,
            self.engine.answers,
        )
        services = Services(
            site.catalog,
            self.operations,
            self.engine.calls,
            self.answers,
            # A day for a call: repairs take longer than the usual 50 s, and the stream must continue until then.
            Patience(*[site.no_time] * 3, whole_call=timedelta(days=1)),
            Secret(site.account.secret, lambda: boundary.secrets),
            RESUMING,
            PollLimit(0),
            report,
            PARTS,
            Ground(Table(site.table, lambda: boundary.dynamodb), {}, self.engine),
            is_weather=is_weather if site.repeats else _is_no_weather,
        )
        self.server = McpServer(services, frozenset(), report)
        patient_ports = replace(
            ports,
            store=task_store(Table(site.table, lambda: boundary.patient_dynamodb), lambda: large_results),
            workflows=StepFunctionsWorkflows(lambda: boundary.patient_step_functions),
            gate=gate_of(EXTRAS, Table(site.table, lambda: boundary.patient_dynamodb)),
        )
        self.events = ExecutionEvents(assemble(patient_ports))
        self.requests = InputRequests(self.events.engine, NestedExecutions(lambda: boundary.patient_step_functions))
        self.expirations = Expirations(self.events.engine)
        self.sweep = Sweep(assemble(ports, Settings.of_sweep(SWEEP)))
        self.outbox = StatusChangesHandler(lambda: boundary.events, lambda: boundary.patient_dynamodb)


@dataclass(frozen=True)
class Kept:
    """What the account has of a site: the items of the table, and the objects of the buckets, by bucket."""

    items: Json
    objects: dict[str, dict[str, bytes]]


@dataclass
class Site:
    """One stack, new for each case. It is an endpoint for the clients of `tests.server.clients`."""

    account: Account
    limits: Limits = field(default_factory=Limits)
    clock: FixedClock = field(default_factory=FixedClock)
    troubles: list[Exception] = field(default_factory=list[Exception])
    """Every error that was reported."""

    repeats: bool = False
    """Whether the server repeats what AWS throttles; else each fault outlasts that."""
    handles: set[str] = field(default_factory=set[str])
    """The ids of the tasks that clients know."""
    outputs: dict[Execution, Any] = field(default_factory=dict[Execution, Any])
    """The expected output of executions whose answers were acknowledged."""

    def __post_init__(self) -> None:
        self.no_time = INTERVALS.repair * 0
        self.table, self.machine = self.account.table, state_machine_arn("Waits")
        self.step_functions: StepFunctions = OneStateThatWaits(self.clock)
        self.account.boundary.services = {
            "dynamodb": dynamodb.answer,
            "sfn": self.step_functions.answer,
            "eventbridge": self._record_published,
            "sqs": self._keep_message,
        }
        self.messages: list[tuple[datetime, Json]] = []
        """The messages of the queue, each with the time at which it is delivered."""
        self.others: dict[str, list[str]] = {}
        """The messages of the queues of extras, by their URLs."""
        self.delay = timedelta()
        """After which the latest of them comes."""
        self.fakes: dict[str, Any] = {}
        """What extras arrange."""
        self.randomness = counting()
        self.heard = set[str]()
        """The ids of the tasks of which the event bus has been told something."""
        leaving = replace(LEAVING, result_bucket=self.account.reports)
        of_extras = chain.from_iterable(_OF_EXTRAS.values())
        own = (OPTIONAL, CONFIRMED, RESTARTED, AT_ONCE, REDRIVEN, *of_extras, leaving)
        races = [replace(tool, ttl=TTL) for tool in (RACING, DELAYED)]
        tools = [*(replace(tool, plan=plan_of(self.machine), ttl=TTL) for tool in own), *races]
        self.catalog = catalog_of(*tools)
        self.process = Process(self, self.limits)

    @property
    def server(self) -> McpServer:
        """The server that answers requests now."""
        return self.process.server

    def forget(self, prefix: str) -> None:
        """Remove the items of a kind, as DynamoDB's TTL does."""
        for item in self.items:
            if item["sk"]["S"].startswith(prefix):
                key = {name: item[name] for name in ("pk", "sk")}
                self.account.tables.delete_item(TableName=self.table, Key=key)

    def restart(self, limits: Limits | None = None) -> None:
        """Replace the process with a new one."""
        self.process = Process(self, limits or self.limits)

    def close(self) -> None:
        """Delete everything from the account."""
        self.keep(Kept({}, {}))

    def kept(self) -> Kept:
        """Return a copy of what the account has."""
        return Kept(deepcopy(self._table.items), {bucket: objects_in(bucket) for bucket in self._buckets})

    def keep(self, kept: Kept) -> None:
        """Let the account have a copy of this, and nothing else."""
        self._table.items.clear()
        self._table.items.update(deepcopy(kept.items))
        for bucket in self._buckets:
            fill_again(bucket, kept.objects.get(bucket, {}))

    def marks(self) -> tuple[str, ...]:
        """Return what is equal if the account has the same."""
        return repr(self.items), *(repr(objects_in(bucket)) for bucket in self._buckets)

    def forget_what_was_reported(self) -> None:
        """Forget what tests alone look at."""
        self.troubles.clear()
        self.account.boundary.calls.clear()

    @property
    def _buckets(self) -> tuple[str, str]:
        return self.account.large_results, self.account.reports

    # The state of the account; these calls get no faults.

    @property
    def _table(self) -> Any:
        return table_behind(self.table)

    @property
    def items(self) -> list[dict[str, Any]]:
        """Return all items of the table."""
        return [item.to_json()["Attributes"] for item in self._table.all_items()]

    def tasks(self) -> dict[str, Task]:
        """Return the tasks, by the ARN of their execution; of a redriven one, the newest."""
        return {execution_arn_of(task.execution): task for task in self.all_tasks()}

    def all_tasks(self) -> list[Task]:
        """Return the tasks, oldest first."""
        found = (task_of(item) for item in self.items if item["sk"]["S"].startswith("task#"))
        return sorted(found, key=lambda task: task.task_id)

    def task(self) -> Task:
        """Return the only task, or None."""
        (task,) = self.tasks().values()
        return task

    def stored(self, task: Task) -> Task:
        """Return a task as it is stored."""
        return next(one for one in self.all_tasks() if one.task_id == task.task_id)

    def slots(self, prefix: str = USAGE) -> frozenset[str]:
        """Return the names of the slots that are taken, in the items whose sort key begins so."""
        counted = (item for item in self.items if item["sk"]["S"].startswith(prefix))
        return frozenset(one for item in counted for one in usage_of(item).active)

    def executions(self) -> dict[str, str]:
        """Return the status of each execution, by its ARN."""
        return {arn: one.status for arn, one in self.step_functions.executions.items()}

    def state(self, arn: str) -> ExecutionState:
        """Return the state of an execution, with its end."""
        known = self.step_functions.executions[arn]
        return state_of(known.described)

    def has_begun(self, task: Task) -> bool:
        """Tell whether the attempt of a task has begun: its execution is there, and redriven as often as it must be."""
        if len(task.runs) > 1:
            due = map(task.execution_of, task.due_runs(self.clock.now()))
            return all(execution_arn_of(one) in self.step_functions.executions for one in due)
        known = self.step_functions.executions.get(execution_arn_of(task.execution))
        return known is not None and all(len(known.tokens) >= run.attempt.redrives for run in task.runs)

    def is_quiet(self) -> bool:
        """Tell whether no execution runs."""
        return not self.step_functions.running()

    # Actions of AWS.

    def token(self) -> str:
        """Return the callback token of the only waiting state."""
        (token,) = self.step_functions.states
        return token

    def fail(self, error: str) -> None:
        """Fail every waiting workflow."""
        for arn in self.step_functions.running():
            self.step_functions.end(arn, "FAILED", {"error": error, "cause": "on purpose"})

    def end(self, execution: Execution, status: str, detail: Json) -> None:
        """End one waiting workflow."""
        self.step_functions.end(execution_arn_of(execution), status, detail)

    def wake(self) -> None:
        """Deliver the messages whose time has come; one that fails is delivered again later."""
        due = [one for one in self.messages if one[0] <= self.clock.time]
        for one in due:
            self.process.events.engine.runs.wake(*wake_up_of(one[1]))
            self.messages.remove(one)

    def _keep_message(self, operation: str, request: AWSPreparedRequest) -> AWSResponse:
        """Keep a message of the queue until its time comes; those of extras apart."""
        body = json.loads(cast(Any, request.body))
        other = self.others.setdefault(body["QueueUrl"], [])
        if operation == "SendMessageBatch":
            other += [one["MessageBody"] for one in body["Entries"]]
            return answered(request, 200, {"Successful": [], "Failed": []})
        assert operation == "SendMessage"
        delay = timedelta(seconds=body["DelaySeconds"])
        if body["QueueUrl"] != WAKE_UPS:
            other.append(body["MessageBody"])
            self.delay = delay
        else:
            self.messages.append((self.clock.time + delay, {"messageId": "1", "body": body["MessageBody"]}))
        digest = hashlib.md5(body["MessageBody"].encode(), usedforsecurity=False).hexdigest()
        return answered(request, 200, {"MessageId": "1", "MD5OfMessageBody": digest})

    def succeed(self, output: Any) -> None:
        """End every waiting workflow with an output."""
        for arn in self.step_functions.running():
            self.step_functions.end(arn, "SUCCEEDED", {"output": json.dumps(output)})

    def leave_and_succeed(self, task: Task) -> None:
        """End a waiting workflow that has left its output in S3."""
        bucket, key = self.account.reports, f"{task.execution.name}/out.json"
        self.account.objects.put_object(Bucket=bucket, Key=key, Body=json.dumps(LEFT))
        self.succeed({"left": f"s3://{bucket}/{key}"})

    def _record_published(self, operation: str, request: AWSPreparedRequest) -> AWSResponse:
        """Record what the function publishes to the event bus."""
        assert operation == "PutEvents"
        entries = json.loads(cast(Any, request.body))["Entries"]
        self.heard |= {json.loads(entry["Detail"])["task_id"] for entry in entries}
        return answered(request, 200, {"FailedEntryCount": 0, "Entries": [{"EventId": "1"} for _ in entries]})

    def deliver(self) -> None:
        """Deliver the status changes of all ended executions, again if they were delivered before."""
        for arn in self.executions():
            self.process.events.record(ExecutionStatusChange(execution_of(arn), self.state(arn)))

    def sweep(self) -> None:
        """Run the sweep at its next time."""
        self.clock.time += SWEEP
        self.process.sweep.run()

    def remove(self, task: Task) -> None:
        """Remove an expired task as DynamoDB's TTL does."""
        self.account.tables.delete_item(TableName=self.table, Key=item_key(task.key))
