"""The moments in the life of a task that are recorded, and how: what this version stores and gives to clients.

Each scenario leaves a table as this version leaves it at one moment in the life of a task. Recordings are
deterministic: the same version records the same.
"""

import base64
import hashlib
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from io import BytesIO
from typing import Any, ClassVar, Final, TypeAlias, cast

from msgspec.structs import replace

from stepwire.aws.s3 import LargeResults
from stepwire.aws.storage.items import Parts
from stepwire.aws.storage.limiter import CallerUsage
from stepwire.aws.storage.table import Table
from stepwire.aws.storage.task_store import DynamoDbTaskStore
from stepwire.catalog.tools import Additions, Context, Tool
from stepwire.errors import StopRefused
from stepwire.json_text import write
from stepwire.tasks.outcomes import ExecutionFailed, Succeeded
from stepwire.tasks.runs import Plan, Retry
from stepwire_local.account.engine import shared_account
from tests.fakes import InMemoryTaskStore
from tests.kits import (
    ALICE,
    CONFIRMED,
    FORM,
    OPTIONAL,
    OUTPUT,
    OUTPUT_SCHEMA,
    SAMPLING,
    URL,
    World,
    catalog_of,
    plan_of,
    state_machine_arn,
)
from tests.races import arms
from tests.recorded import FOLDER as EVENTS
from tests.recorded import recorded
from tests.server.answers import Json
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient
from tests.server.messages import questions
from tests.simulated.dynamodb import quick_dynamodb_client
from tests.tables import new_table, table_behind

_LARGE_OUTPUT: Final[Json] = {"answer": 42, "text": "x" * 150_000}
"""An output that is too large for the task's item: its result has an item of its own."""
_LARGEST_OUTPUT: Final[Json] = {"answer": 42, "text": "x" * 220_000}
"""An output whose result is an object in the bucket of the stack."""
LARGE_ARGUMENTS: Final[Json] = {"text": "x" * 5_000}
ACCEPT: Final[Json] = {"action": "accept", "content": {"amount": 7}}
LISTED: Final[Json] = {"roots": [{"uri": "file:///home/alice"}]}
WRONG: Final[Json] = {"action": "accept", "content": {"amount": 0}}
PROTOCOL_ERROR: Final[Json] = {"code": -31_990, "message": "Not on a Sunday.", "data": {"day": 7}}
KEY: Final = "a-key-of-a-client"
SEVERAL_PAGES: Final = 51  # tasks

# The tool in the sample events.
TOOL: Final = replace(
    OPTIONAL,
    name="wait_and_echo",
    plan=plan_of(state_machine_arn("WaitAndEcho")),
    output_schema=write(OUTPUT_SCHEMA),
    shows_state=True,
    result_bucket="my-reports",
    result_prefix="results/{principal}/",
    keep_result=timedelta(days=1),
)
SHAPED: Final = replace(
    TOOL,
    name="shaped",
    additions=Additions({"region": "eu"}, context=Context("caller", ("email",))),
    output_shape=write({"structured": "@"}),
)
ELSEWHERE: Final = replace(
    TOOL,
    name="elsewhere",
    plan=plan_of(
        "arn:aws:states:us-west-2:222222222222:stateMachine:WaitAndEcho", "arn:aws:iam::222222222222:role/stepwire"
    ),
)
RETRIED: Final = replace(TOOL, name="retried", retry=Retry(3, ("OutOfStock",)))
REDRIVEN: Final = replace(TOOL, name="redriven", retry=Retry(3, ("OutOfStock",), redrives=True, has_jitter=True))
RACING: Final = replace(TOOL, name="racing", plan=Plan(arms(3, (0, 0, 60))))
TOOLS: Final = (TOOL, CONFIRMED, SHAPED, ELSEWHERE, RETRIED, REDRIVEN, RACING)
BOTH: Final = {**TASKS_CAPABILITY, **ASKING_CAPABILITY}
_FROM_THEN_ON_WORDS: Final = 1_000  # characters; of longer texts, the digest is recorded


@dataclass
class Scene:
    """What a scenario left."""

    task_id: str | None = None
    """The task of the scenario; None if only the client keeps something."""
    carried: Json = field(default_factory=dict[str, Any])
    """What the client keeps, and sends with its next request."""


@dataclass(frozen=True)
class Bucket:
    """The bucket of large results, as a client of S3."""

    contents: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def put_object(self, **given: Any) -> None:
        """Write an object."""
        self.contents[given["Key"]] = given["Body"]

    def get_object(self, **given: Any) -> Json:
        """Read an object."""
        return {"Body": BytesIO(self.contents[given["Key"]])}


class RecordedTable(DynamoDbTaskStore, frozen=True):
    """The table of a `World`, and its bucket. All scenarios share one and start with it empty: creating it is slow."""

    calls: ClassVar[list[str]] = []
    bucket: ClassVar[Bucket] = Bucket()

    def items(self) -> list[Json]:
        """Return all items."""
        found = (item.to_json()["Attributes"] for item in table_behind(self.table.name).all_items())
        return sorted((_plain(item) for item in found), key=lambda item: str(item["sk"]))

    def objects(self) -> Json:
        """Return all objects of the bucket, compressed."""
        return {key: base64.b64encode(zlib.compress(one)).decode() for key, one in self.bucket.contents.items()}

    def clear(self) -> None:
        """Remove all items and objects."""
        self.bucket.contents.clear()
        table_behind(self.table.name).items.clear()


@contextmanager
def simulated_table() -> Generator[RecordedTable]:
    """Create a table in the simulated account."""
    with shared_account():
        bucket: Any = RecordedTable.bucket
        table = Table(new_table(), quick_dynamodb_client)
        parts = Parts(table, lambda: LargeResults("large-results", bucket))
        yield RecordedTable(table, parts, CallerUsage(table))


def world_on(table: RecordedTable, tools: Iterable[Tool]) -> World:
    """Return Stepwire over a table, with these tools and a fake of Step Functions."""
    return World(catalog=catalog_of(*tools), store=cast(InMemoryTaskStore, table))


def _plain(item: Json) -> Json:
    return {name: {kind: sorted(value) if kind == "SS" else value} for name, ((kind, value),) in _pairs(item)}


def _pairs(item: Json) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    for name in sorted(item):
        yield name, list(item[name].items())


# ---------------------------------------------------------------------------------------------------------- scenarios


def _legacy(world: World) -> LegacyClient:
    return LegacyClient.opened(world, capabilities=ASKING_CAPABILITY)


def modern(world: World) -> ModernClient:
    return ModernClient(world, capabilities=BOTH)


def _begun(world: World) -> str:
    return modern(world).start(TOOL.name)


def working(world: World) -> Scene:
    return Scene(_begun(world))


def large(world: World) -> Scene:
    """Of a call with arguments that are too large for the head of the task."""
    return Scene(modern(world).call(TOOL.name, LARGE_ARGUMENTS).id_in())


def reporting(world: World) -> Scene:
    task_id = _begun(world)
    world.clock.advance(seconds=3)
    world.progress(task_id, 40, 100, "40 of 100 rows: grüße")
    return Scene(task_id)


def shaped(world: World) -> Scene:
    """Of a tool that tells its workflow who calls, and whose output gets a form of its own."""
    return Scene(modern(world).start(SHAPED.name))


def elsewhere(world: World) -> Scene:
    """Of a state machine that a role runs."""
    return Scene(modern(world).start(ELSEWHERE.name))


def retried(world: World) -> Scene:
    """The second attempt runs, in an execution of its own."""
    task_id = modern(world).start(RETRIED.name)
    world.fail(task_id, "OutOfStock")
    world.wake()
    return Scene(task_id)


def waiting_for_its_redrive(world: World) -> Scene:
    """The first attempt has failed, and is about to be redriven."""
    task_id = modern(world).start(REDRIVEN.name)
    world.fail(task_id, "OutOfStock")
    return Scene(task_id)


def redriven_by_its_operator(world: World) -> Scene:
    """The task that follows the one which has failed, with the same execution."""
    task_id = _begun(world)
    world.fail(task_id, "Full", "no room")
    (task,) = world.operations.page(ALICE, None).tasks
    return Scene(world.engine.follow_ups.redrive(task.key).task.task_id)


def followed_by_its_operator(world: World) -> Scene:
    """The task that has failed, and that another one follows."""
    task_id = _begun(world)
    world.fail(task_id, "Full", "no room")
    (task,) = world.operations.page(ALICE, None).tasks
    world.engine.follow_ups.redrive(task.key)
    return Scene(task_id)


def racing(world: World) -> Scene:
    """One arm has failed, one asks, and one is yet to start."""
    task_id = modern(world).start(RACING.name)
    (task,) = world.store.page(ALICE, None, 1).tasks
    world.end_arm(task, "a", ExecutionFailed("CarrierClosed", "closed today"))
    world.ask(task_id)
    return Scene(task_id)


def won(world: World) -> Scene:
    """The second arm has won, and the first could not be stopped yet."""
    task_id = modern(world).start(RACING.name)
    (task,) = world.store.page(ALICE, None, 1).tasks
    world.workflows.stop_fault = StopRefused("not now")
    with suppress(StopRefused):
        world.end_arm(task, "b", Succeeded(write(OUTPUT)))
    world.workflows.stop_fault = None
    return Scene(task_id)


def asking(world: World) -> Scene:
    """Two questions, one of which was answered wrongly, and a third that was answered correctly."""
    client = _legacy(world)
    task_id = client.call(TOOL.name, task={}, progress_token="t").id_in("task")
    world.ask(task_id, "first")
    world.ask(task_id, "approval", seconds=600)
    world.ask(task_id, "signature", URL)
    stream = client.task("result", task_id)
    first, second, _ = questions(stream.messages)
    assert client.respond(first, result=ACCEPT).status == 202
    client.respond(second, result=WRONG)
    return Scene(task_id, {"session": client.session, "event_id": stream.last_event_id})


def asking_the_client(world: World) -> Scene:
    """A question to the model, which was answered wrongly, and a request for roots, whose answer is undelivered."""
    client = ModernClient(world, capabilities={**BOTH, "sampling": {}, "roots": {}})
    task_id = client.start(TOOL.name)
    world.ask(task_id, "model", seconds=600, other={"sampling": SAMPLING})
    world.ask(task_id, "folders", other={"roots": {}})
    world.workflows.is_available = False
    client.update(task_id, {"model": {}, "folders": LISTED})
    world.workflows.is_available = True
    return Scene(task_id)


def answered_and_not_delivered(world: World) -> Scene:
    task_id = _begun(world)
    world.ask(task_id, elicitation=FORM)
    world.workflows.is_available = False
    modern(world).update(task_id, {"approval": ACCEPT})
    world.workflows.is_available = True
    return Scene(task_id)


def to_be_confirmed(world: World) -> Scene:
    client = _legacy(world)
    return Scene(client.call(CONFIRMED.name, task={}).id_in("task"), {"session": client.session})


def to_be_confirmed_without_a_task(world: World) -> Scene:
    answer = modern(world).call(CONFIRMED.name)
    return Scene(None, {"request_state": answer.result["requestState"]})


def plain_call(world: World) -> Scene:
    client = _legacy(world)
    first = client.call(TOOL.name, progress_token=7, message_id=3)
    task_id = client.ask("tasks/list").result["tasks"][0]["taskId"]
    return Scene(task_id, {"session": client.session, "event_id": first.last_event_id})


def call_in_rounds(world: World) -> Scene:
    answer = ModernClient(world, capabilities=ASKING_CAPABILITY).call(TOOL.name)
    (execution,) = world.workflows.running()
    return Scene(execution.name.rpartition("-")[2], {"request_state": answer.result["requestState"]})


def given_up(world: World) -> Scene:
    client = _legacy(world)
    client.call(TOOL.name, message_id="r")
    task_id = client.ask("tasks/list").result["tasks"][0]["taskId"]
    client.notify("notifications/cancelled", {"requestId": "r"})
    return Scene(task_id)


def repeatable(world: World) -> Scene:
    params = {"name": TOOL.name, "arguments": {"text": "hello"}}
    answer = modern(world).ask("tools/call", params, headers={"idempotency-key": KEY})
    return Scene(answer.id_in())


def completed(world: World) -> Scene:
    task_id = _begun(world)
    world.clock.advance(seconds=3)
    world.succeed(task_id, OUTPUT)
    return Scene(task_id)


def completed_with_error(world: World) -> Scene:
    task_id = _begun(world)
    world.fail(task_id, "Full", "no room")
    return Scene(task_id)


def completed_in_an_item(world: World) -> Scene:
    task_id = _begun(world)
    world.succeed(task_id, _LARGE_OUTPUT)
    return Scene(task_id)


def completed_in_bucket(world: World) -> Scene:
    task_id = _begun(world)
    world.succeed(task_id, _LARGEST_OUTPUT)
    return Scene(task_id)


def failed(world: World) -> Scene:
    task_id = _begun(world)
    world.fail(task_id, "Stepwire.ProtocolError", write(PROTOCOL_ERROR))
    return Scene(task_id)


def cancelled(world: World) -> Scene:
    task_id = _begun(world)
    modern(world).task("cancel", task_id)
    return Scene(task_id)


def second_page(world: World) -> Scene:
    for _ in range(SEVERAL_PAGES):
        _begun(world)
    return Scene(None, {"cursor": _legacy(world).ask("tasks/list").result["nextCursor"]})


Scenario: TypeAlias = Callable[[World], Scene]
SCENARIOS: Final[tuple[Scenario, ...]] = (
    working,
    shaped,
    elsewhere,
    retried,
    waiting_for_its_redrive,
    redriven_by_its_operator,
    followed_by_its_operator,
    racing,
    won,
    large,
    reporting,
    asking,
    asking_the_client,
    answered_and_not_delivered,
    to_be_confirmed,
    to_be_confirmed_without_a_task,
    plain_call,
    call_in_rounds,
    given_up,
    repeatable,
    completed,
    completed_with_error,
    completed_in_an_item,
    completed_in_bucket,
    failed,
    cancelled,
    second_page,
)


# ---------------------------------------------------------------------------------------------------------- recording


def record(scenario: Scenario, table: RecordedTable, tools: Iterable[Tool]) -> Json:
    """Run a scenario; return the stored items and the answers to clients of both eras."""
    table.clear()
    world = world_on(table, tools)
    scene = scenario(world)
    at = world.clock.now().isoformat()
    if scene.task_id is None:
        return {"at": at, "carried": scene.carried}
    items, objects = table.items(), table.objects()
    return {
        "at": at,
        "task_id": scene.task_id,
        "items": items,
        **({"objects": objects} if objects else {}),
        "carried": scene.carried,
        "answers": answers(world, scene.task_id),
    }


def answers(world: World, task_id: str) -> Json:
    """Read a task as clients of both eras, and its result if it has ended."""
    shown = ModernClient(world, capabilities=BOTH).task("get", task_id).body
    legacy = LegacyClient(world)
    told = {"modern tasks/get": shown, "legacy tasks/get": legacy.task("get", task_id).body}
    if shown["result"]["status"] not in {"working", "input_required"}:
        told["legacy tasks/result"] = legacy.task("result", task_id).body
    return _shortened(told)


def _shortened(value: Any) -> Any:
    match value:
        case dict():
            return {name: _shortened(part) for name, part in cast(Json, value).items()}
        case list():
            return [_shortened(part) for part in cast(list[Any], value)]
        case str() if len(value) > _FROM_THEN_ON_WORDS:
            return f"{len(value)} characters, SHA-256 {hashlib.sha256(value.encode()).hexdigest()}"
        case _:
            return value


def events() -> Json:
    """Return the sample events that workflows and AWS send to functions that record them."""
    names = (path.stem for path in sorted(EVENTS.glob("*.json")))
    return {name: recorded(name) for name in names if name.startswith(("execution_", "progress_", "input_"))}
