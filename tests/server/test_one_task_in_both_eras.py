"""One stored task, in the forms of both eras: section H of the checklist, row by row."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from stepwire.json_text import write
from tests.kits import OUTPUT, World
from tests.server.clients import LegacyClient, ModernClient

ERROR = {"code": -31_990, "message": "Not on a Sunday.", "data": {"day": "Sunday"}}
MEANING_OF_THE_SAME = {"ttlMs": "ttl", "pollIntervalMs": "pollInterval"}
SHARED = {"taskId", "createdAt", "lastUpdatedAt", "statusMessage"}
PAYLOADS = {"result", "error"}


@dataclass(frozen=True)
class Row:
    """How a task ends, and its form in each era."""

    happens: Callable[[World, str], object]
    legacy: str
    modern: str
    payload: str
    """The member that contains its answer; empty if it has none."""
    message: str | None = None


def nothing(world: World, task_id: str) -> None:
    """Leave the task running."""


ROWS = {
    "working": Row(nothing, "working", "working", ""),
    "success": Row(lambda world, task_id: world.succeed(task_id, OUTPUT), "completed", "completed", "result"),
    "tool error": Row(
        lambda world, task_id: world.fail(task_id, "Full", "no room"),
        "failed",
        "completed",
        "result",
        "The workflow failed with Full: no room",
    ),
    "tool error that the workflow wrote itself": Row(
        lambda world, task_id: world.succeed(
            task_id, {"content": [{"type": "text", "text": "no room"}], "isError": True}
        ),
        "failed",
        "completed",
        "result",
        "no room",
    ),
    "timeout": Row(
        lambda world, task_id: (world.workflows.time_out(world.workflows.execution_of(task_id)), world.deliver()),
        "failed",
        "completed",
        "result",
        "The workflow did not finish within its time limit (States.Timeout) and was stopped.",
    ),
    "protocol error": Row(
        lambda world, task_id: world.fail(task_id, "Stepwire.ProtocolError", write(ERROR)),
        "failed",
        "failed",
        "error",
        "Not on a Sunday.",
    ),
    "stopped by an operator": Row(
        lambda world, task_id: (world.workflows.abort(world.workflows.execution_of(task_id)), world.deliver()),
        "cancelled",
        "cancelled",
        "",
        "The execution was stopped.",
    ),
    "cancelled by its caller": Row(
        lambda world, task_id: LegacyClient(world).task("cancel", task_id),
        "cancelled",
        "cancelled",
        "",
        "The task was cancelled by its caller.",
    ),
}


@pytest.fixture(params=ROWS.values(), ids=list(ROWS))
def row(request: pytest.FixtureRequest) -> Row:
    """One way to end."""
    return request.param


# H, T10, T13, T18, X10, X11, X12, X29
def test_each_era_has_its_own_word_for_the_status(
    legacy: LegacyClient, modern: ModernClient, world: World, row: Row
) -> None:
    task_id = legacy.start()

    row.happens(world, task_id)
    in_legacy, in_modern = (client.task("get", task_id).result for client in (legacy, modern))

    assert (in_legacy["status"], in_modern["status"]) == (row.legacy, row.modern)
    assert in_legacy.get("statusMessage") == in_modern.get("statusMessage") == row.message
    assert in_modern.keys() & PAYLOADS == ({row.payload} if row.payload else set())
    assert not in_legacy.keys() & PAYLOADS


# H, T11, T12, X7
def test_both_eras_have_the_same_values_under_their_own_names(
    legacy: LegacyClient, modern: ModernClient, world: World, row: Row
) -> None:
    task_id = modern.start()
    world.clock.advance(seconds=3)

    row.happens(world, task_id)
    in_legacy, in_modern = (client.task("get", task_id).result for client in (legacy, modern))

    facts = {name: value for name, value in in_modern.items() if name in SHARED | MEANING_OF_THE_SAME.keys()}
    assert in_legacy.pop("status")
    assert in_legacy == {MEANING_OF_THE_SAME.get(name, name): value for name, value in facts.items()}


# H, T14, T16, X10, X11
@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.payload])
def test_the_result_is_the_same_in_both_eras(
    legacy: LegacyClient, modern: ModernClient, world: World, name: str
) -> None:
    row, task_id = ROWS[name], legacy.start()

    row.happens(world, task_id)
    in_legacy = legacy.task("result", task_id).body[row.payload]
    in_modern = modern.task("get", task_id).result[row.payload]

    assert without(in_legacy, "_meta") == without(in_modern, "resultType")
    assert row.payload == "result" or in_modern == ERROR


# H
def test_a_created_task_is_nested_in_legacy_and_flat_in_modern(legacy: LegacyClient, modern: ModernClient) -> None:
    in_legacy = legacy.call("optional", task={}).result

    in_modern = modern.call("optional").result

    assert in_legacy.keys() == {"task"}
    assert {"taskId", "status"} <= in_modern.keys()


# A8, H
def test_only_legacy_lets_the_client_ask_for_a_time_to_live(legacy: LegacyClient, modern: ModernClient) -> None:
    in_legacy = legacy.call("optional", task={"ttl": 7_200_000}).result["task"]["ttl"]

    in_modern = modern.call("optional", more={"task": {"ttl": 7_200_000}, "ttlMs": 7_200_000}).result["ttlMs"]

    assert (in_legacy, in_modern) == (7_200_000, 3_600_000)


def without(value: dict[str, Any], name: str) -> dict[str, Any]:
    """Leave out one member."""
    return {key: item for key, item in value.items() if key != name}
