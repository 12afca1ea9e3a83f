"""What this version stores and hands out has the shape of the newest record; tokens of later versions are refused."""

import base64
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, cast

import pytest

from stepwire.aws.storage.items import item_of, task_of
from stepwire.json_text import JsonTextError, parse
from stepwire.protocol.opaque import wrap
from stepwire.protocol.request_state import seal
from stepwire.server.continuations import Continuation, Kind, Subject, issue
from tests.kits import ALICE, ARGUMENTS, SECRET, World
from tests.server.answers import Json
from tests.server.clients import ASKING_CAPABILITY, LegacyClient, ModernClient
from tests.upgrades.recording import (
    Table,
    all_recorded,
    events,
)
from tests.upgrades.records import VERSIONS

NEWEST: Final = max(VERSIONS, key=int)


@pytest.fixture(scope="module")
def today(table: Table) -> Json:
    """What this version writes."""
    return all_recorded(table)


# ---------------------------------------------------------------------------------------------------- after a rollback

SUBJECT: Final = Subject(ALICE, "optional", ARGUMENTS)


def _sealed(**changes: Any) -> str:
    """Seal a requestState as a later version might: with another kind, or without what is looked for."""
    until = datetime.fromisoformat("2100-01-01T00:00:00+00:00")
    state = issue(Continuation(Kind.FOLLOW, "01kyyk41g000000000000000000000000001"), SUBJECT, until, SECRET)
    body = state.partition(".")[0]
    payload = parse(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    return seal({name: value for name, value in {**payload, **changes}.items() if value is not ...}, SECRET)


@pytest.mark.parametrize(
    "state",
    [
        _sealed(kind="something new"),
        _sealed(kind=...),
        _sealed(task=...),
        _sealed(rounds=...),
        _sealed(until=...),
        _sealed(until="tomorrow"),
        _sealed(arguments=...),
        seal({}, SECRET),
    ],
)
def test_a_request_state_of_a_later_version_is_refused_and_is_no_fault(state: str) -> None:
    world = World()

    answer = ModernClient(world, capabilities=ASKING_CAPABILITY).call("optional", more={"requestState": state})

    assert answer.code == -32602
    assert world.faults == []


@pytest.mark.parametrize("event_id", [wrap([2, "r", "a task"]), wrap({"format": 2}), wrap([1])])
def test_an_event_id_of_a_later_version_is_refused_and_is_no_fault(event_id: str) -> None:
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


def test_a_later_items_new_attributes_do_not_hinder_an_earlier_reader() -> None:
    task = replace(World().call(), version=1)

    read = task_of({**item_of(task), "format": {"N": "99"}, "something_new": {"M": {"a": {"BOOL": True}}}})

    assert read == task


# ----------------------------------------------------------------------------------------------------- and from now on


def shape_of(value: Any) -> Any:
    """Give the shape of a recorded value: names and kinds, also of what is JSON in a text; not the values."""
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
    """Give the shapes of the items of all scenarios, and in which status the task of each is."""
    return {
        name: [[shape_of(item), item.get("status"), item.get("format")] for item in scene.get("items", [])]
        for name, scene in scenarios.items()
    }


CHANGED: Final = (
    "The shape of what this version writes, or gives clients to keep, is another than that of the newest record. Read "
    "docs/upgrades.md, then record it: python -m tests.upgrades.recording {}"
)


def test_what_is_stored_today_has_the_shape_of_the_newest_record(today: Json) -> None:
    assert stored(today) == stored(VERSIONS[NEWEST]["scenarios"]), CHANGED.format(int(NEWEST) + 1)


def test_what_clients_keep_today_is_that_of_the_newest_record(today: Json) -> None:
    carried = {name: scene["carried"] for name, scene in today.items()}

    recorded = {name: scene["carried"] for name, scene in VERSIONS[NEWEST]["scenarios"].items()}
    assert carried == recorded, CHANGED.format(int(NEWEST) + 1)


def test_the_sample_events_of_today_are_among_the_records() -> None:
    """They are what workflows of this version send; a later one must still understand them."""
    assert events() == VERSIONS[NEWEST]["events"], CHANGED.format(int(NEWEST) + 1)
