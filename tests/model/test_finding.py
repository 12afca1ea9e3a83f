"""The state machine finds what it is there for: with one thing of ours left out, it fails, and says why."""

from typing import Any

import pytest

from stepwire.aws.dynamodb import DynamoDbTaskStore
from stepwire.ports import IdempotencyKey
from stepwire.recorder import Recorder
from stepwire.tasks.ids import TaskKey
from stepwire.tasks.task import Task
from tests.kits import ALICE, BOB
from tests.model.profile import explore

MOST_STEPS = 5_000
_create, _load = DynamoDbTaskStore.create, DynamoDbTaskStore.load


def _without_its_key(store: DynamoDbTaskStore, task: Task, _key: IdempotencyKey | None = None) -> Task:
    return _create(store, task)


def _not_released(_store: DynamoDbTaskStore, _owner: object, _task_ids: object) -> None:
    return None


def _of_anybody(store: DynamoDbTaskStore, key: TaskKey) -> Task | None:
    found = (_load(store, TaskKey(owner, key.task_id)) for owner in (ALICE, BOB))
    return next(filter(None, found), None)


def _unchecked(_recorder: Recorder, _owner: object, task: Task | None) -> Task | None:
    return task


LEFT_OUT: dict[str, tuple[str, list[tuple[type[Any], str, Any]]]] = {
    "the slot of a task that ends": ("a slot is leaked", [(DynamoDbTaskStore, "release", _not_released)]),
    "the idempotency key": ("a call with a key has two tasks", [(DynamoDbTaskStore, "create", _without_its_key)]),
    "whose a task is": (
        "a task is somebody else's",
        [(DynamoDbTaskStore, "load", _of_anybody), (Recorder, "_present", _unchecked)],
    ),
}


@pytest.mark.parametrize("what", LEFT_OUT)
def test_what_is_left_out_is_found(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    why, patches = LEFT_OUT[what]
    for owner, name, replacement in patches:
        monkeypatch.setattr(owner, name, replacement)

    with pytest.raises(AssertionError, match=why):
        explore(MOST_STEPS, name="Finding", shrinks=False)
