"""Tasks that expired while they ran: the stream records of their removal, and the clean-up."""

from typing import Any

import pytest
from msgspec.structs import replace

from stepwire.audit import AuditAction, AuditEntry
from stepwire.aws.storage.items import TASK_PREFIX, expired_task_of, item_of
from stepwire.engine.calls import ToolCall
from stepwire.errors import StoreBusy
from stepwire.tasks.outcomes import Aborted
from stepwire.tasks.task import Origin, Task
from tests.fake_workflows import Stop
from tests.kits import ALICE, ARGUMENTS, BOB, BOTH_MODES, CONFIRMED, OUTPUT, World

BY_TTL = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}


def gone(world: World, task: Task) -> Task:
    """Remove a task as DynamoDB's TTL does; return it as it was last saved."""
    return world.store.tasks.pop(task.key)


def removal(task: Task) -> dict[str, Any]:
    """Return the stream record of a TTL deletion."""
    item = item_of(replace(task, version=1))
    keys = {name: item[name] for name in ("pk", "sk")}
    return {"eventName": "REMOVE", "userIdentity": BY_TTL, "dynamodb": {"Keys": keys, "OldImage": item}}


class TestATaskThatExpired:
    """T24, T27."""

    def test_is_stopped_and_leaves_its_slot_and_an_entry(self) -> None:
        world = World()
        task = world.call()
        world.audit.clear()

        world.expirations.record(gone(world, task))

        assert world.workflows.stops == [Stop(task.execution, "The task expired.")]
        assert world.workflows.states[task.execution] == Aborted()
        assert world.store.usage[ALICE].active == frozenset()
        assert world.audit == [AuditEntry(AuditAction.EXPIRED, ALICE, "optional", task.task_id)]

    def test_leaves_other_tasks_alone(self) -> None:
        world = World()
        task, other, bobs = world.call(), world.call(), world.call(owner=BOB)

        world.expirations.record(gone(world, task))

        assert world.workflows.running() == (other.execution, bobs.execution)
        assert world.store.usage[ALICE].active == {other.task_id}
        assert world.store.usage[BOB].active == {bobs.task_id}

    def test_may_be_delivered_twice(self) -> None:
        world = World()
        task, other = world.call(), world.call()
        expired = gone(world, task)

        world.expirations.record(expired)
        world.expirations.record(expired)

        assert world.workflows.running() == (other.execution,)
        assert world.store.usage[ALICE].active == {other.task_id}
        assert len(world.workflows.undelivered) == 1

    def test_is_ignored_if_it_had_ended(self) -> None:
        world = World()
        task = world.call()
        world.succeed(task.task_id, OUTPUT)
        world.store.calls.clear()
        world.audit.clear()

        world.expirations.record(gone(world, task))

        assert world.workflows.stops == []
        assert world.store.calls == []
        assert world.audit == []

    def test_has_no_execution_to_stop_while_it_waits_to_be_confirmed(self) -> None:
        world = World()
        assert CONFIRMED.confirmation is not None
        call = ToolCall(ALICE, CONFIRMED, ARGUMENTS, None, Origin(BOTH_MODES))
        task = world.calls.begin(call, CONFIRMED.confirmation).task

        world.expirations.record(gone(world, task))

        assert world.workflows.stops == []
        assert world.store.usage[ALICE].active == frozenset()

    def test_is_stopped_while_its_workflow_waits_for_an_answer(self) -> None:
        world = World()
        task = world.call()
        world.ask(task.task_id)

        world.expirations.record(gone(world, task))

        assert world.workflows.states[task.execution] == Aborted()

    def test_is_retried_if_its_slot_could_not_be_freed(self) -> None:
        world = World()
        expired = gone(world, world.call())
        world.audit.clear()
        world.store.is_available = False

        with pytest.raises(StoreBusy):
            world.expirations.record(expired)
        world.store.is_available = True
        world.expirations.record(expired)

        assert world.store.usage[ALICE].active == frozenset()
        assert [entry.action for entry in world.audit] == [AuditAction.EXPIRED]

    def test_stays_removed_when_the_abort_event_arrives(self) -> None:
        world = World()
        task = world.call()
        world.expirations.record(gone(world, task))
        world.audit.clear()

        world.deliver()

        assert world.store.tasks == {}
        assert world.audit == []


class TestARecordOfTheStream:
    def test_of_a_ttl_deletion_contains_the_task(self) -> None:
        task = replace(World().call(), version=1)

        assert expired_task_of(removal(task)) == task

    def test_of_a_task_with_questions_is_complete(self) -> None:
        world = World()
        task = world.call()
        world.ask(task.task_id)

        assert expired_task_of(removal(world.stored(task))) == replace(world.stored(task), version=1)

    @pytest.mark.parametrize(
        "difference",
        [
            {"userIdentity": None},
            {"userIdentity": {"type": "Service", "principalId": "replication.dynamodb.amazonaws.com"}},
            {"userIdentity": {"type": "User", "principalId": "dynamodb.amazonaws.com"}},
            {"eventName": "MODIFY"},
            {"eventName": "INSERT"},
            {"dynamodb": {"Keys": {}}},
            *(
                {"dynamodb": {"OldImage": {"pk": {"S": ALICE}, "sk": {"S": f"{kind}1"}}}}
                for kind in ("key#", "usage", "cancelled#", "terms#", "result#", TASK_PREFIX.upper())
            ),
        ],
        ids=str,
    )
    def test_of_another_kind_or_item_is_ignored(self, difference: dict[str, Any]) -> None:
        record = {**removal(World().call()), **difference}

        assert expired_task_of(record) is None

    def test_of_a_deletion_by_stepwire_is_ignored(self) -> None:
        record = removal(World().call())
        del record["userIdentity"]

        assert expired_task_of(record) is None
