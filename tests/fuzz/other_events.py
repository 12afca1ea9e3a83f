"""The events of the other functions: from authors of workflows (questions, progress), Step Functions, and DynamoDB.

An input is the JSON text of an event, whose shape decides which function gets it. Each function accepts or rejects it
as documented, and afterwards clients of both eras must see the tasks well formed. docs/fuzzing.md lists the functions
that are not here.
"""

import json
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from typing import Any, Final, Protocol, TypeGuard, cast

from msgspec.structs import replace

from stepwire.audit import no_audit
from stepwire.aws.background_functions import ExecutionEventsHandler, ExpirationsHandler, InputRequestsHandler
from stepwire.aws.status_changes_function import EventBus, StatusChangesHandler
from stepwire.changes import ChangeServices
from stepwire.composition import EXTRAS, switched_on
from stepwire.hooks import TableGround
from stepwire.json_text import as_object, write
from stepwire.principal import Principal
from stepwire.server.services import Patience
from stepwire.tasks.outcomes import Succeeded
from tests.fuzz.bounds import bounded
from tests.fuzz.strict import StrictStore, StrictWorkflows, copied
from tests.kits import (
    FORM,
    NO_TABLE,
    OPTIONAL,
    OUTPUT,
    OUTPUT_SCHEMA,
    URL,
    World,
    catalog_of,
    plan_of,
    state_machine_arn,
)
from tests.recorded import FOLDER, recorded
from tests.server.answers import Json
from tests.server.anything import TASK_ID
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient

OWNER: Final = Principal("758ede2a8b140aab9517a5e2031621eb")
"""The owner of the task of the recorded events."""
TOOL: Final = replace(
    OPTIONAL,
    name="wait_and_echo",
    plan=plan_of(state_machine_arn("WaitAndEcho")),
    output_schema=write(OUTPUT_SCHEMA),
)
TOKEN: Final = recorded("input_requested")["task_token"]
LONGEST_TOKEN: Final = 2_048  # characters
MOST_ENTRIES: Final = 10  # entries of PutEvents
LARGEST_ENTRY: Final = 262_144  # bytes
SAMPLES: Final = ("execution_*", "input_requested", "progress_reported", "table_changed", "task_expired")
_STREAM_EVENTS: Final = frozenset({"INSERT", "MODIFY", "REMOVE"})


@dataclass
class FakeBus:
    """An event bus that accepts what EventBridge accepts."""

    taken: list[Json] = field(default_factory=list[Json])

    def put_events(self, Entries: list[Any]) -> Json:  # noqa: N803 - boto3's name
        assert 0 < len(Entries) <= MOST_ENTRIES
        for entry in Entries:
            assert len(entry["Detail"].encode()) <= LARGEST_ENTRY
            self.taken.append(json.loads(entry["Detail"]))
        return {"Entries": [{"EventId": "1"} for _ in Entries]}


class Handler(Protocol):
    """A Lambda handler."""

    def __call__(self, event: dict[str, Any], _context: object, /) -> Any:
        """Handle an event."""
        ...


@cache
def _populated() -> World:
    """Return a world with the running task of the recorded events."""
    world = World(
        patience=Patience(unresumable_request=timedelta(), first_request=timedelta()),
        catalog=catalog_of(TOOL),
        store=StrictStore(),
        workflows=StrictWorkflows(),
    )
    client = ModernClient(world, OWNER, {**TASKS_CAPABILITY, **ASKING_CAPABILITY})
    assert client.start("wait_and_echo") == TASK_ID
    world.workflows.waiting.add(TOKEN)
    # Step Functions has the output that an event leaves out.
    world.workflows.states[world.workflows.execution_of(TASK_ID)] = Succeeded(write(OUTPUT))
    return world


def check(data: bytes) -> bool:
    """Send an input to its function; return False if AWS never sends such an event."""
    try:
        event = as_object(json.loads(data))
    except (ValueError, RecursionError):
        return False
    world = copied(_populated())
    if _is_question(event):
        _check_question(event, world)
    elif _is_eventbridge_event(event):
        with bounded():
            _over(ExecutionEventsHandler(), _events=world.events)(event, None)
    elif _is_stream(event):
        _check_stream(event, world)
    else:
        return False
    _check_task(world)
    return True


def _check_question(event: Json, world: World) -> None:
    handler = _over(InputRequestsHandler(), _requests=world.requests)
    try:
        with bounded():
            handler(event, None)
    except KeyError:
        assert not event.keys() >= {"execution_arn", "task_token"}, (
            "only an event without a token or an execution may be refused so"
        )
        return
    token = str(event["task_token"])
    task = next(iter(world.store.tasks.values()))
    asked = any(getattr(one.destination, "token", None) == token for one in task.input_requests)
    late = _lasts_no_time(event.get("timeout_seconds"))
    failed = token not in world.workflows.waiting
    assert token != TOKEN or asked or failed or late, "a waiting state must have an open question, or fail"


def _raised(_words: str, fault: Exception) -> None:
    raise fault


def change_services() -> ChangeServices:
    """Return what all extras have that need no table for the changes of tasks that ask nobody else."""
    return ChangeServices(TableGround(NO_TABLE, {}), switched_on(EXTRAS.keys() - {"events"}), no_audit, _raised)


def _check_stream(event: Json, world: World) -> None:
    numbers = [record["dynamodb"]["SequenceNumber"] for record in event["Records"]]
    bus = FakeBus()
    handlers: tuple[Handler, ...] = (
        _over(ExpirationsHandler(), _expirations=world.expirations),
        _over(StatusChangesHandler(), services=change_services(), _bus=EventBus("a-bus", lambda: cast(Any, bus))),
    )
    for handler in handlers:
        with bounded():
            answer = handler(event, None)
        failed = [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]
        assert len(failed) < 2
        assert set(failed) <= set(numbers)
    for told in bus.taken:
        assert told.keys() >= {"event_id", "task_id", "tool", "status", "version"}


def _check_task(world: World) -> None:
    """Read the task in both eras, if it has changed; the clients check each answer."""
    if world.store.tasks == _populated().store.tasks:
        return
    legacy = LegacyClient.opened(world, owner=OWNER, capabilities=ASKING_CAPABILITY)
    modern = ModernClient(world, OWNER, {**TASKS_CAPABILITY, **ASKING_CAPABILITY})
    answers = [
        modern.task("get", TASK_ID),
        modern.listen({"taskIds": [TASK_ID]}),
        legacy.task("get", TASK_ID),
        legacy.task("result", TASK_ID),
        legacy.ask("tasks/list"),
    ]
    for fault in (*world.faults, *world.troubles):
        raise AssertionError("the answer must not be an internal error") from fault
    for answer in answers:
        answer.response.body.encode()


def _over(handler: Any, **parts: object) -> Handler:
    """Replace what a handler builds from its environment at its first event."""
    cast(dict[str, object], vars(handler)).update(parts)
    return handler


def _is_question(event: Json) -> bool:
    """Accept any JSON, because the author of a state writes it; only the token always comes from Step Functions."""
    token = str(event.get("task_token", "")).encode(errors="replace").decode()
    return ("elicitation" in event or "task_token" in event) and token == str(event.get("task_token", ""))[
        :LONGEST_TOKEN
    ]


def _is_eventbridge_event(event: Json) -> bool:
    """Accept an EventBridge event whose detail is an object, with known types in Step Functions' own members."""
    detail, resources = event.get("detail"), event.get("resources")
    if not isinstance(detail, dict) or not _are_texts(resources) or not isinstance(event.get("detail-type"), str):
        return False
    if event["detail-type"] == "Stepwire Task Progress":
        return True
    known = as_object(detail)
    given = [known.get(name) for name in ("name", "stateMachineArn", "status")]
    return _are_texts(given) and all(isinstance(known.get(name), str | None) for name in ("output", "error", "cause"))


def _is_stream(event: Json) -> bool:
    """Accept a batch of DynamoDB's records, each with a number, an event name and valid texts."""
    records, text = event.get("Records"), json.dumps(event, ensure_ascii=False)
    return (
        text.encode(errors="replace").decode() == text
        and isinstance(records, list)
        and all(
            isinstance(as_object(as_object(record).get("dynamodb")).get("SequenceNumber"), str)
            and str(as_object(record).get("eventName")) in _STREAM_EVENTS
            for record in cast(list[Any], records)
        )
    )


def _are_texts(values: object) -> TypeGuard[list[str]]:
    return isinstance(values, list) and all(isinstance(value, str) for value in cast(list[Any], values))


def _lasts_no_time(seconds: Any) -> bool:
    return isinstance(seconds, int | float) and 0 < seconds < 0.000_001


def seeds() -> list[bytes]:
    """Return the recorded events of these functions, and more that an author of a workflow may send."""
    samples = [path.read_bytes() for name in SAMPLES for path in sorted(FOLDER.glob(f"{name}.json"))]
    question = recorded("input_requested")
    return samples + [json.dumps({**question, "elicitation": one}).encode() for one in (FORM, URL)]
