"""Questions of workflows to others than the caller: which there are, whose they are, and which are refused."""

from datetime import timedelta
from typing import Any, Final

import pytest
from msgspec.structs import replace

from stepwire.background.input_requests import InputRequests
from stepwire.engine.assembly import assemble
from stepwire.extras.approvals.rules import Approvers, Escalation, HasClaim, HasScope, People
from stepwire.json_text import Json
from stepwire.tasks.task import InputRequired, Task, Working
from tests.extras.approvals.questions_to_others import approval_in
from tests.kits import FORM, OPTIONAL, SAMPLING, URL, World, catalog_of, keeping

INVALID: Final = "Stepwire.InvalidInputRequest"
FINANCE: Final = HasClaim("groups", ("finance",))
POLICY: Final = Approvers(People((FINANCE,), "finance"), questions=("approval",))
ANYBODY: Final = Approvers()
"""Each question must say who decides it."""


def called(policy: Approvers | None) -> tuple[World, Task]:
    tool = keeping(OPTIONAL, approvals=policy)
    world = World(catalog=catalog_of(tool))
    return world, world.call(tool, modes=frozenset())


def fault_of(world: World) -> tuple[str | None, str]:
    (resumption,) = world.workflows.resumptions
    return resumption.error, resumption.cause or ""


def test_a_question_to_others_needs_nothing_of_the_callers_client() -> None:
    world, task = called(POLICY)

    world.ask(task.task_id)

    (asked,) = world.stored(task).questions
    assert (approval_in(asked).policy, approval_in(asked).asked_at) == (POLICY, world.clock.time)
    assert world.stored(task).status == InputRequired((asked,))
    assert world.stored(task).shown_status == Working()
    assert world.stored(task).input_requests == ()


def test_a_question_with_another_key_is_the_callers() -> None:
    world, task = called(POLICY)

    world.ask(task.task_id, "amount")

    assert fault_of(world)[0] == "Stepwire.InputNotSupported", "whose client cannot ask"


def test_a_question_to_others_is_nobodys_where_approvals_are_off() -> None:
    world, tool = World(), keeping(OPTIONAL, approvals=POLICY)
    task = world.call(tool)  # by a client that could be asked
    world.requests = InputRequests(assemble(replace(world.ports, routers={})), world.workflows)

    world.ask(task.task_id)

    error, cause = fault_of(world)
    assert error == INVALID
    assert "this endpoint does not ask them any more" in cause
    assert world.stored(task).questions == ()


@pytest.mark.parametrize(
    ("policy", "asked", "cause"),
    [
        (None, {"audience": {"scope": "a"}}, "the manifest of optional has no approvers for the key 'approval'"),
        (POLICY, {"key": "amount", "audience": {"scope": "a"}}, "has no approvers for the key 'amount'"),
        (POLICY, {"audience": {"scope": "a b"}}, "at audience"),
        (POLICY, {"audience": "finance"}, "at audience"),
        (POLICY, {"elicitation": URL}, "with a form only"),
        (POLICY, {"other": {"sampling": SAMPLING}}, "with a form only"),
        (POLICY, {"other": {"roots": {}}}, "with a form only"),
        (POLICY, {"audience": {"recipients": ["eve@example.com"]}}, "recipients must be among those of the manifest"),
        (
            replace(POLICY, recipients=("ann", "ben")),
            {"audience": {"approvals": 3}},
            "recipients must not be fewer than approvals",
        ),
        (ANYBODY, {}, "who decides it?"),
        (ANYBODY, {"audience": {"approvals": 2}}, "who decides it?"),
    ],
)
def test_a_question_that_nobody_may_be_asked_fails_its_state(
    policy: Approvers | None, asked: dict[str, Any], cause: str
) -> None:
    world, task = called(policy)

    world.ask(task.task_id, **asked)

    error, words = fault_of(world)
    assert error == INVALID
    assert cause in words
    assert world.stored(task) == task


def test_a_questions_own_audience_narrows_the_manifests() -> None:
    world, task = called(POLICY)
    second: Json = {"after": "PT1H", "scope": "chief", "name": "the chief"}
    audience: Json = {"scope": "emea", "name": "nobody you know", "approvals": 2, "escalate": second}

    world.ask(task.task_id, audience=audience)

    (asked,) = world.stored(task).questions
    policy = approval_in(asked).policy
    assert policy.audience == People((FINANCE, HasScope("emea")), "finance")
    assert policy.approvals == 2
    assert policy.escalation == Escalation(timedelta(hours=1), People((FINANCE, HasScope("chief")), "finance"))
    assert asked.audience.waiting_text((), None) == "Waits for 2 of finance to decide."


def test_a_recipient_is_the_same_person_whatever_the_case_of_the_letters() -> None:
    world, task = called(replace(POLICY, recipients=("Ann@example.com", "ben@example.com")))

    world.ask(task.task_id, audience={"recipients": ["ann@Example.com"]})

    (asked,) = world.stored(task).questions
    assert approval_in(asked).policy.recipients == ("Ann@example.com",)


def test_an_audience_counts_among_the_bytes_of_open_questions() -> None:
    large = People((HasClaim("groups", tuple(f"{one}{'x' * 199}" for one in range(10))),))
    world, task = called(replace(POLICY, audience=large))

    for number in range(30):
        world.ask(task.task_id, token=str(number))

    assert len(world.stored(task).questions) == 18
    assert fault_of_last(world)[0] == INVALID


def fault_of_last(world: World) -> tuple[str | None, str]:
    resumption = world.workflows.resumptions[-1]
    return resumption.error, resumption.cause or ""


def test_a_tool_without_approvers_stores_and_calls_what_it_did() -> None:
    world = World()
    task = world.call()
    world.store.calls.clear()

    world.ask(task.task_id, elicitation=FORM)

    assert world.store.calls == ["load", "save"]
    (asked,) = world.stored(task).questions
    assert asked.audience.is_caller
    assert world.wake_ups.scheduled == []


def test_a_question_that_came_while_its_task_ended_stops_nothing() -> None:
    world, task = called(replace(POLICY, remind=timedelta(hours=1)))
    world.store.before_save = lambda: world.operations.cancel(task.owner, task.task_id)
    stops = len(world.workflows.stops)

    world.ask(task.task_id)

    assert world.stored(task).has_ended
    assert len(world.workflows.stops) == stops + 1, "of the cancellation"
