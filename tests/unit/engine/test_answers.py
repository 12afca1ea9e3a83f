"""Answers of callers: validated, recorded, then delivered; no accepted answer is lost."""

from typing import Any

import pytest

from stepwire.audit import AuditAction, AuditEntry
from stepwire.engine.answers import LARGEST_ANSWERS
from stepwire.json_text import JsonObject
from stepwire.tasks.inputs import LARGEST_CONTENT
from stepwire.tasks.task import Cancelled, Completed, Inputs, Task, Working
from tests.fake_workflows import Resumption
from tests.kits import ALICE, OUTPUT, URL, World

YES: JsonObject = {"action": "accept", "content": {"amount": 25}}
NO: JsonObject = {"action": "decline"}
DELIVERED_YES = '{"action":"accept","content":{"amount":25}}'


def asking(world: World, *keys: str) -> Task:
    """Return a task that asks these questions."""
    task = world.call()
    for key in keys:
        world.ask(task.task_id, key)
    return world.stored(task)


def respond(world: World, task: Task, **responses: Any) -> Task:
    return world.answers.respond(ALICE, task.task_id, responses)


def got(world: World) -> dict[str, str | None]:
    """Return what waiting states got, by their tokens."""
    return {one.token: one.output for one in world.workflows.resumptions}


class TestAnAnswer:
    def test_reaches_the_state_that_waits_and_closes_its_question(self) -> None:
        """T29."""
        world = World()
        task = asking(world, "approval")

        after = respond(world, task, approval=YES)

        assert after.status == Working()
        assert got(world) == {"token of approval": DELIVERED_YES}
        assert world.stored(task).inputs == Inputs(asked=1, used_keys=("approval",))

    @pytest.mark.parametrize("action", ["decline", "cancel"])
    def test_that_is_a_decline_or_cancel_reaches_the_state_too(self, action: str) -> None:
        """T29: the workflow decides what it means."""
        world = World()
        task = asking(world, "approval")

        respond(world, task, approval={"action": action, "content": {"amount": 25}})

        assert got(world) == {"token of approval": f'{{"action":"{action}"}}'}

    def test_to_a_url_question_contains_only_the_action(self) -> None:
        world = World()
        task = world.call()
        world.ask(task.task_id, "signature", URL)

        respond(world, task, signature={"action": "accept", "content": {"a": 1}})

        assert got(world) == {"token of signature": '{"action":"accept"}'}

    def test_is_recorded_before_it_is_delivered(self) -> None:
        """X8: nothing is lost if the process dies in between."""
        world = World()
        task = asking(world, "approval")
        world.store.calls.clear()

        respond(world, task, approval=YES)

        assert world.store.calls == ["load", "save", "save"]

    def test_is_delivered_by_the_next_reader(self) -> None:
        """X17: read after write."""
        world = World()
        task = asking(world, "approval")

        after = respond(world, task, approval=YES)

        assert world.operations.get(ALICE, task.task_id) == after

    def test_to_one_of_several_leaves_the_others_open(self) -> None:
        """X15: partial answers."""
        world = World()
        task = asking(world, "a", "b", "c")

        after = respond(world, task, b=YES)

        assert [request.key for request in after.input_requests] == ["a", "c"]
        assert got(world) == {"token of b": DELIVERED_YES}

    def test_to_several_at_once_reaches_each(self) -> None:
        world = World()
        task = asking(world, "a", "b", "c")

        respond(world, task, a=YES, c=NO)

        assert got(world) == {"token of a": DELIVERED_YES, "token of c": '{"action":"decline"}'}


class TestAWrongAnswer:
    @pytest.mark.parametrize(
        "answer", [{"action": "accept", "content": {"amount": 0}}, {"action": "accept"}, {}, None, "yes"]
    )
    def test_repeats_the_question_under_another_key(self, answer: Any) -> None:
        world = World()
        task = asking(world, "approval")

        after = respond(world, task, approval=answer)

        (request,) = after.input_requests
        assert (request.key, request.number, bool(request.refusal)) == ("approval#2", 2, True)
        assert got(world) == {}
        assert world.answers.respond(ALICE, task.task_id, {"approval#2": YES}).status == Working()

    def test_that_comes_twice_repeats_the_question_once(self) -> None:
        """X16: a client may repeat a request whose response was lost."""
        world = World()
        task = asking(world, "approval")

        once, twice = (respond(world, task, approval={}) for _ in range(2))

        assert twice == once

    def test_together_with_a_valid_one_keeps_the_valid_one(self) -> None:
        """Clients answer a key once, so a valid answer must not be requested again."""
        world = World()
        task = asking(world, "a", "b")

        after = respond(world, task, a=YES, b={"action": "accept"})

        assert [one.key for one in after.input_requests] == ["b#3"]
        assert got(world) == {"token of a": DELIVERED_YES}

    def test_is_audited_without_its_content(self) -> None:
        world = World()
        task = asking(world, "approval")

        respond(world, task, approval={"action": "accept", "content": {"amount": 5_000}})

        expected = AuditEntry(AuditAction.REFUSED, ALICE, task.work.tool, task.task_id, "WrongAnswer")
        assert [one for one in world.audit if one.action is AuditAction.REFUSED] == [expected]

    def test_costs_one_save_for_all_of_a_request(self) -> None:
        world = World()
        task = asking(world, "a", "b", "c")
        world.store.calls.clear()

        respond(world, task, a={}, b=None, c="yes")

        assert world.store.calls == ["load", "save"]

    def test_is_one_that_exceeds_the_undelivered_limit(self) -> None:
        world = World()
        task = world.call()
        form = {"message": "m", "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}
        for number in range(6):
            world.ask(task.task_id, f"key-{number}", form)
        large = {"action": "accept", "content": {"a": "x" * (LARGEST_CONTENT - 10)}}

        after = world.answers.respond(ALICE, task.task_id, dict.fromkeys([f"key-{one}" for one in range(6)], large))

        again = [one.key for one in after.input_requests]
        assert again == [f"key-{one}#{7 + one}" for one in range(6)]
        assert f"larger than {LARGEST_ANSWERS} bytes" in (after.input_requests[0].refusal or "")
        world.answers.respond(ALICE, task.task_id, dict.fromkeys(again[:5], large))
        world.answers.respond(ALICE, task.task_id, {again[5]: large})
        assert len(got(world)) == 6


class TestAnAnswerThatNobodyAskedFor:
    @pytest.mark.parametrize("responses", [{}, {"other": YES}, {"other": "nonsense"}, {"": None}])
    def test_is_ignored_whatever_it_is(self, responses: Any) -> None:
        """X16."""
        world = World()
        task = asking(world, "approval")
        world.store.calls.clear()

        after = world.answers.respond(ALICE, task.task_id, responses)

        assert after == task
        assert world.store.calls == ["load"]

    def test_to_an_answered_question_is_ignored_even_if_different(self) -> None:
        """X16."""
        world = World()
        task = asking(world, "approval")
        respond(world, task, approval=YES)

        respond(world, task, approval=NO)
        respond(world, task, approval="nonsense")

        assert got(world) == {"token of approval": DELIVERED_YES}

    def test_because_the_task_has_ended_is_ignored(self) -> None:
        """X16: no error to the client."""
        world = World()
        task = asking(world, "approval")
        world.succeed(task.task_id, OUTPUT)

        after = respond(world, task, approval=YES)

        assert isinstance(after.status, Completed)
        assert got(world) == {}

    def test_because_its_state_no_longer_waits_is_ignored(self) -> None:
        world = World()
        task = world.call()
        world.ask(task.task_id, seconds=60)
        world.clock.advance(seconds=60)

        after = respond(world, task, approval=YES)

        assert after.status == Working()
        assert got(world) == {}

    def test_because_its_state_has_just_timed_out_is_no_error(self) -> None:
        world = World()
        task = asking(world, "approval")
        world.workflows.waiting.clear()

        after = respond(world, task, approval=YES)

        assert after.status == Working()
        assert all(one.is_unclaimed for one in world.stored(task).inputs.undelivered)  # kept for a retry
        assert (got(world), world.troubles) == ({}, [])


class TestAClientThatCannotAskAfterAll:
    def test_lets_the_state_fail_with_a_name_that_can_be_caught(self) -> None:
        world = World()
        task = asking(world, "approval")

        after = world.answers.mark_unanswerable(ALICE, task.task_id, "approval")

        assert after.status == Working()
        assert world.workflows.resumptions == [
            Resumption(
                "token of approval",
                error="Stepwire.InputNotSupported",
                cause="The question cannot be put to the user of the client that called.",
            )
        ]

    def test_leaves_other_questions_open(self) -> None:
        world = World()
        task = asking(world, "a", "b")

        after = world.answers.mark_unanswerable(ALICE, task.task_id, "a")

        assert [request.key for request in after.input_requests] == ["b"]

    def test_of_an_unknown_question_changes_nothing(self) -> None:
        world = World()
        task = asking(world, "approval")

        assert world.answers.mark_unanswerable(ALICE, task.task_id, "other") == task


class TestTwoAtOnce:
    def test_answering_the_same_question_deliver_one_answer(self) -> None:
        world = World()
        task = asking(world, "approval")
        world.store.before_save = lambda: respond(world, task, approval=NO)

        after = respond(world, task, approval=YES)

        assert after.status == Working()
        assert got(world) == {"token of approval": '{"action":"decline"}'}
        assert world.stored(task).inputs.undelivered == ()

    def test_answering_different_questions_are_both_recorded(self) -> None:
        world = World()
        task = asking(world, "a", "b")
        world.store.before_save = lambda: respond(world, task, b=NO)

        after = respond(world, task, a=YES)

        assert after.status == Working()
        assert got(world) == {"token of a": DELIVERED_YES, "token of b": '{"action":"decline"}'}

    def test_answering_and_asking_lose_nothing(self) -> None:
        world = World()
        task = asking(world, "a")
        world.store.before_save = lambda: world.ask(task.task_id, "b")

        after = respond(world, task, a=YES)

        assert [request.key for request in after.input_requests] == ["b"]
        assert got(world) == {"token of a": DELIVERED_YES}

    def test_answering_and_cancelling_leave_the_task_cancelled(self) -> None:
        """T23."""
        world = World()
        task = asking(world, "approval")
        world.store.before_save = lambda: world.operations.cancel(ALICE, task.task_id)

        after = respond(world, task, approval=YES)

        assert isinstance(after.status, Cancelled)
        assert world.workflows.running() == ()

    def test_cancelling_and_answering_leave_the_task_cancelled_and_the_answer_delivered(self) -> None:
        world = World()
        task = asking(world, "approval")
        world.store.before_save = lambda: respond(world, task, approval=YES)

        after = world.operations.cancel(ALICE, task.task_id)

        assert isinstance(after.status, Cancelled)
        assert world.workflows.running() == ()
