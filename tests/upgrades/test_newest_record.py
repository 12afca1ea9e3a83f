"""What this version stores, publishes and hands out has the shape of the newest record.

Tokens and attributes of a later version, after a rollback, cause no internal error.
"""

import base64
from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast

import pytest
from msgspec.structs import replace

from stepwire.aws.storage.items import TASK_PREFIX, item_of, task_of
from stepwire.catalog.tools import read_catalog
from stepwire.json_text import JsonTextError, parse, write
from stepwire.protocol.tokens import Continuation, Kind, Subject, sign, state_of, wrap
from tests.kits import ALICE, ARGUMENTS, SECRET, World
from tests.server.answers import Json
from tests.server.clients import ASKING_CAPABILITY, LegacyClient, ModernClient
from tests.upgrades.recording import RecordedTable, events
from tests.upgrades.records import ALL, CORE, NUMBER, Recorded

TASKS: Final = [
    pytest.param(item, id=name)
    for one in ALL
    for name, scene in one.newest()["scenarios"].items()
    for item in scene.get("items", [])
    if item["sk"]["S"].startswith(TASK_PREFIX)
]


@pytest.fixture(scope="module", params=ALL, ids=lambda one: Path(one.module).parent.name)
def one(request: pytest.FixtureRequest) -> Recorded:
    """What is recorded of the core, or of an extra."""
    return request.param


@pytest.fixture(scope="module")
def newest(one: Recorded) -> Json:
    return one.newest()


@pytest.fixture(scope="module")
def today(one: Recorded, table: RecordedTable) -> Json:
    """What this version writes now."""
    return one.today(table)


# ---------------------------------------------------------------------------------------------------- after a rollback

SUBJECT: Final = Subject(ALICE, "optional", ARGUMENTS)


def _signed(**changes: Any) -> str:
    """Sign a requestState as a later version might: of an unknown kind, or without an expected member."""
    until = datetime.fromisoformat("2100-01-01T00:00:00+00:00")
    state = state_of(Continuation(Kind.FOLLOW, "01kyyk41g000000000000000000000000001"), SUBJECT, until, SECRET)
    body = state.partition(".")[0]
    payload = parse(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    return sign({name: value for name, value in {**payload, **changes}.items() if value is not ...}, SECRET)


@pytest.mark.parametrize(
    "state",
    [
        _signed(kind="something new"),
        _signed(kind=...),
        _signed(task=...),
        _signed(rounds=...),
        _signed(told=...),
        _signed(repeated=...),
        _signed(until=...),
        _signed(until="tomorrow"),
        _signed(arguments=...),
        sign({}, SECRET),
    ],
)
def test_a_request_state_of_a_later_version_is_refused_without_an_internal_error(state: str) -> None:
    world = World()

    answer = ModernClient(world, capabilities=ASKING_CAPABILITY).call("optional", more={"requestState": state})

    assert answer.code == -32602
    assert world.faults == []


@pytest.mark.parametrize("event_id", [wrap([2, "r", "a task"]), wrap({"format": 2}), wrap([1])])
def test_an_event_id_of_a_later_version_is_refused_without_an_internal_error(event_id: str) -> None:
    world = World()
    opened_by: Json = {"jsonrpc": "2.0", "id": 1, "method": "tasks/result", "params": {}}

    answer = LegacyClient.opened(world).resume(event_id, opened_by=opened_by)

    assert 400 <= answer.status < 500
    assert world.faults == []


@pytest.mark.parametrize("session", [wrap([2, "2025-11-25", "a client", {}, "r"]), wrap({"format": 2})])
def test_a_session_of_a_later_version_must_be_reinitialized(session: str) -> None:
    world = World()

    answer = LegacyClient(world, session=session).ask("tools/list")

    assert answer.status == 404
    assert world.faults == []


def test_an_earlier_version_ignores_new_attributes_of_a_later_one() -> None:
    task = replace(World().call(), version=1)

    read = task_of({**item_of(task), "format": {"N": "99"}, "something_new": {"M": {"a": {"BOOL": True}}}})

    assert read == task


# ---------------------------------------------------------------------------------------------------------- the record


@pytest.mark.parametrize("item", TASKS)
def test_a_recorded_task_is_read_and_written_as_it_is(item: Json) -> None:
    assert item_of(task_of(item)) == item


def test_the_recorded_catalog_is_served(one: Recorded, newest: Json) -> None:
    tools = {tool.name for shard in newest["catalog"] for tool in read_catalog(write(shard), {}).in_order}

    assert tools == set(one.manifests)


def shape_of(value: Any) -> Any:
    """Return the shape of a recorded value: names and types, also of JSON in strings, without the values."""
    match value:
        case {"S": str(text)}:
            return {"S": _shape_of_text(text)}
        case dict():
            return {name: shape_of(part) for name, part in cast(Json, value).items()}
        case list():
            return [shape_of(part) for part in cast(list[Any], value)]
        case _:
            return type(value).__name__


def _shape_of_text(text: str) -> Any:
    try:
        value = parse(text)
    except JsonTextError:
        return "text"
    return shape_of(value) if isinstance(value, dict | list) else "text"


def stored(scenarios: Json) -> Json:
    """Return the shapes of the items of all scenarios, and the statuses of their tasks."""
    return {
        name: [[shape_of(item), item.get("status"), item.get("format")] for item in scene.get("items", [])]
        for name, scene in scenarios.items()
    }


CHANGED: Final = (
    "The shape of what this version writes, or gives clients to keep, is another than that of the newest record. Read "
    f"docs/upgrades.md, then record it: python -m tests.upgrades {NUMBER}, or {NUMBER + 1} once {NUMBER} is "
    "the format of a release"
)


def test_what_is_stored_today_has_the_shape_of_the_newest_record(today: Json, newest: Json) -> None:
    assert stored(today["scenarios"]) == stored(newest["scenarios"]), CHANGED


def test_what_clients_keep_today_has_the_shape_of_the_newest_record(today: Json, newest: Json) -> None:
    carried, recorded = (
        {name: scene["carried"] for name, scene in one["scenarios"].items()} for one in (today, newest)
    )

    assert carried == recorded, CHANGED


def test_what_is_published_today_has_the_shape_of_the_newest_record(today: Json, newest: Json) -> None:
    assert list(map(shape_of, today["catalog"])) == list(map(shape_of, newest["catalog"])), CHANGED


def test_the_sample_events_of_today_are_among_the_records() -> None:
    """Workflows of this version send these events; later versions must still understand them."""
    assert events() == CORE.newest()["events"], CHANGED
