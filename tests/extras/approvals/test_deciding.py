"""People other than the caller find and decide questions: what they see, who is first, and what a workflow gets."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

import pytest
from msgspec.structs import replace

from stepwire.audit import AuditAction
from stepwire.engine.answers import LARGEST_ANSWERS, WrongAnswer
from stepwire.engine.calls import ToolCall
from stepwire.extras.approvals.audit import APPROVED, ASKED, DECLINED, SEEN
from stepwire.extras.approvals.inbox import InboxEntry, QuestionKey
from stepwire.extras.approvals.refusals import UnknownApproval
from stepwire.extras.approvals.rules import (
    MOST_APPROVALS,
    Approver,
    Approvers,
    Escalation,
    HasClaim,
    HasScope,
    People,
    VoteWay,
    digest_of,
    for_others,
)
from stepwire.extras.approvals.service import MOST_FOUND, MOST_LISTED, MOST_READ, HasVoted, own_vote
from stepwire.json_text import Json, load_json
from stepwire.principal import Principal
from stepwire.tasks.answers import LARGEST_MATTERS, Decision
from stepwire.tasks.ids import TaskId
from stepwire.tasks.inputs import LARGEST_CONTENT
from stepwire.tasks.task import Origin, Person, Task, Working
from tests.extras.approvals.built import approvals_in, fakes_in
from tests.kits import ALICE, ARGUMENTS, BOTH_MODES, OPTIONAL, World, catalog_of, keeping

FINANCE: Final = HasClaim("groups", ("finance",))
POLICY: Final = Approvers(People((FINANCE,), "finance"), shown_arguments=("text",))
APPROVE: Final[Json] = {"action": "accept", "content": {"amount": 7}}
REFUSE: Final[Json] = {"action": "decline"}
SCHEMA: Final[Json] = {"type": "object", "properties": {"amount": {"type": "number"}}}
HOUR: Final = timedelta(hours=1)
MINUTE: Final = timedelta(minutes=1)


def person(name: str = "bob", *qualities: HasClaim | HasScope, has_link: bool = False) -> Approver:
    return Approver(name, name.title(), frozenset(qualities or (FINANCE,)), has_link=has_link)


BOB: Final = person()
CAROL: Final = person("carol")


def asking(policy: Approvers = POLICY, **more: Any) -> tuple[World, Task]:
    """Return a world in which Alice's task has a question to others."""
    tool = keeping(replace(OPTIONAL, ttl=timedelta(days=30)), approvals=policy)
    world = World(catalog=catalog_of(tool))
    task = called(world)
    world.ask(task.task_id, **more)
    return world, world.stored(task)


def called(world: World, owner: Principal = ALICE) -> Task:
    """Call the tool as a person whom an approver may be."""
    tool = world.catalog.tools[OPTIONAL.name]
    origin = Origin(BOTH_MODES, person=Person(f"person of {owner}", "Alice"))
    return world.calls.call(ToolCall(owner, tool, ARGUMENTS, None, origin))


def key_of(task: Task, number: int = 1) -> QuestionKey:
    return QuestionKey(task.key, number)


def vote(
    world: World, task: Task, approver: Approver = BOB, answer: Json = APPROVE, way: VoteWay = VoteWay.TOOL
) -> HasVoted | Decision | WrongAnswer:
    return approvals_in(world).vote(key_of(task), approver, answer, way)


def callbacks(world: World) -> list[Json]:
    """Return what the workflow's states got, without when."""
    return [load_json(one.output) for one in world.workflows.resumptions if one.output is not None]


# ------------------------------------------------------------------------------------------------------------- deciding


@pytest.mark.parametrize(
    ("answer", "action", "content", "verb"),
    [(APPROVE, "accept", {"amount": 7}, "approved"), (REFUSE, "decline", None, "refused")],
)
def test_one_decision_is_delivered_with_who_has_made_it(answer: Json, action: str, content: Json, verb: str) -> None:
    world, task = asking()

    decision = vote(world, task, answer=answer)

    assert isinstance(decision, Decision)
    (got,) = callbacks(world)
    assert (got["action"], got.get("content")) == (action, content)
    at = got["answers"][0].pop("at")
    assert at == "2026-08-01T12:00:00.000Z"
    expected = {"action": action, "by": "Bob", "person": "bob", "way": "tool"}
    assert got["answers"] == [expected if content is None else {**expected, "content": content}]
    after = world.stored(task)
    assert after.questions == ()
    assert after.inputs.undelivered == ()
    assert after.status == Working(f"finance {verb}, 2026-08-01 12:00 UTC.")
    assert approvals_in(world).standing(key_of(task), BOB) == decision


def test_several_must_approve_and_one_refuses() -> None:
    world, task = asking(replace(POLICY, approvals=2))
    assert isinstance(vote(world, task), HasVoted)
    assert callbacks(world) == []

    last = vote(world, task, CAROL, REFUSE)

    assert isinstance(last, Decision)
    (got,) = callbacks(world)
    assert [one["action"] for one in got["answers"]] == ["accept", "decline"]
    assert got["action"] == "decline"
    assert "content" not in got


@pytest.mark.parametrize("again", [APPROVE, REFUSE, {"action": "cancel"}])
@pytest.mark.parametrize("needed", [1, 2])
def test_who_has_voted_and_sends_it_again_reads_what_they_have_voted(needed: int, again: Json) -> None:
    world, task = asking(replace(POLICY, approvals=needed))
    first = vote(world, task)
    after, trail = world.stored(task), list(world.audit)
    world.clock.time += HOUR

    second = vote(world, task, answer=again)

    assert second == first == approvals_in(world).standing(key_of(task), BOB)
    assert isinstance(first, HasVoted | Decision)
    assert isinstance(second, HasVoted | Decision)
    assert own_vote(second, BOB) == own_vote(first, BOB)
    assert world.stored(task) == after
    assert (list(world.audit), len(callbacks(world))) == (trail, needed % 2)


def test_who_has_voted_reads_it_after_the_task_has_ended_and_after_they_have_lost_the_group() -> None:
    world, task = asking()
    decision = vote(world, task)
    world.succeed(task.task_id, {"answer": 1})

    assert isinstance(decision, Decision)
    assert vote(world, task) == decision
    assert vote(world, task, person("bob", HasClaim("groups", ("staff",)))) == for_others(decision, "bob")
    with pytest.raises(UnknownApproval):
        vote(world, task, CAROL)


def test_of_two_votes_of_one_person_at_once_one_counts_and_both_get_it() -> None:
    world, task = asking(replace(POLICY, approvals=2))
    got = list[object]()

    def other() -> None:
        world.clock.time += HOUR
        got.append(vote(world, task, answer=REFUSE))

    world.store.before_save = other

    assert isinstance(vote(world, task), Decision)
    assert isinstance(got[0], Decision)
    assert [one.action for one in world.audit if one.details] == [DECLINED]
    assert len(callbacks(world)) == 1


@pytest.mark.parametrize(
    "approver",
    [
        person("eve", HasClaim("groups", ("staff",))),
        person(f"person of {ALICE}"),
        person(f"person of {ALICE}", has_link=True),
    ],
    ids=["who does not fit", "the caller", "the caller with a link"],
)
def test_who_may_not_decide_sees_as_little_as_if_there_were_nothing(approver: Approver) -> None:
    world, task = asking()

    for attempt in (lambda: vote(world, task, approver), lambda: approvals_in(world).require(key_of(task), approver)):
        with pytest.raises(UnknownApproval) as refused:
            attempt()
        with pytest.raises(UnknownApproval) as unknown:
            approvals_in(world).require(key_of(task, 2), BOB)
        assert str(refused.value) == str(unknown.value)
    assert approvals_in(world).open_for(approver).questions == ()
    assert world.stored(task) == task


def test_a_question_to_the_caller_is_nobody_elses() -> None:
    world, task = asking(replace(POLICY, questions=("payment",)))

    assert world.stored(task).input_requests != ()
    with pytest.raises(UnknownApproval):
        vote(world, task)


def ended(world: World, task: Task) -> None:
    world.succeed(task.task_id, {"answer": 1})


def expired(world: World, _task: Task) -> None:
    world.clock.time += HOUR


def decided(world: World, task: Task) -> None:
    vote(world, task, CAROL)


def gone(world: World, _task: Task) -> None:
    world.clock.time += timedelta(days=30)


@pytest.mark.parametrize("end", [ended, expired, decided, gone])
def test_a_closed_question_cannot_be_decided(end: Callable[[World, Task], None]) -> None:
    world, task = asking(seconds=HOUR.total_seconds())

    end(world, task)

    with pytest.raises(UnknownApproval):
        vote(world, task)
    assert approvals_in(world).open_for(BOB).questions == ()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"action": "cancel"}, "decides nothing"),
        ({"action": "accept", "content": {"amount": 0}}, "at content/amount"),
        ({"action": "accept"}, "at content"),
        ({}, "action"),
        (None, "action"),
    ],
)
def test_a_wrong_answer_says_what_is_wrong_and_leaves_the_question_open(answer: Json, reason: str) -> None:
    world, task = asking()

    wrong = vote(world, task, answer=answer)

    assert isinstance(wrong, WrongAnswer)
    assert reason in wrong.reason
    assert world.stored(task) == task


def test_links_and_sign_ins_do_not_approve_together() -> None:
    world, task = asking(replace(POLICY, approvals=2))
    vote(world, task)

    wrong = vote(world, task, person("a link", has_link=True), way=VoteWay.LINK)

    assert isinstance(wrong, WrongAnswer)
    assert "in another way" in wrong.reason


def test_all_answers_to_one_question_fit_and_more_than_a_task_keeps_do_not() -> None:
    policy = replace(POLICY, approvals=MOST_APPROVALS)
    world, task = asking(policy)
    world.ask(task.task_id, "second")
    large: Json = {"action": "accept", "content": {"amount": 1, "note": "x" * (LARGEST_CONTENT - 40)}}
    people = [person(f"{one:032x}") for one in range(MOST_APPROVALS)]
    for one in people[:-1]:
        assert isinstance(vote(world, task, one, large), HasVoted)

    others = [approvals_in(world).vote(key_of(task, 2), one, large, VoteWay.TOOL) for one in people[:2]]

    assert isinstance(others[1], WrongAnswer)
    assert str(LARGEST_ANSWERS) in others[1].reason
    assert isinstance(approvals_in(world).vote(key_of(task, 2), people[1], REFUSE, VoteWay.TOOL), Decision)
    assert isinstance(vote(world, task, people[-1], large), Decision)
    assert len(callbacks(world)) == 2


def test_the_newest_decisions_keep_their_questions_and_answers_as_far_as_they_have_room() -> None:
    world, task = asking()
    message = "x" * (LARGEST_MATTERS // 3)
    for number in range(2, 5):
        world.ask(task.task_id, f"question-{number}", {"message": message, "requestedSchema": SCHEMA})
        assert isinstance(approvals_in(world).vote(key_of(task, number), BOB, APPROVE, VoteWay.TOOL), Decision)

    decisions = world.stored(task).inputs.decisions

    assert [one.matter is None for one in decisions] == [True, False, False]


def test_the_newest_decision_keeps_the_largest_answer() -> None:
    world, task = asking()
    large: Json = {"action": "accept", "content": {"amount": 1, "note": "x" * LARGEST_MATTERS}}

    decision = vote(world, task, BOB, large)

    assert isinstance(decision, Decision)
    assert decision.matter is not None
    assert len(decision.matter.content or "") > LARGEST_MATTERS
    assert [one.content for one in decision.answers] == [None], "it is kept once"


# ---------------------------------------------------------------------------------------------------------------- races


def test_of_two_who_decide_at_once_the_first_counts() -> None:
    world, task = asking()
    world.store.before_save = lambda: vote(world, task, CAROL, REFUSE)

    with pytest.raises(UnknownApproval):
        vote(world, task)

    (got,) = callbacks(world)
    assert got["action"] == "decline"
    assert [one["by"] for one in got["answers"]] == ["Carol"]


def test_of_two_who_approve_at_once_both_count() -> None:
    world, task = asking(replace(POLICY, approvals=2))
    world.store.before_save = lambda: vote(world, task, CAROL)

    assert isinstance(vote(world, task), Decision)

    (got,) = callbacks(world)
    assert [one["by"] for one in got["answers"]] == ["Carol", "Bob"]


def test_a_vote_and_a_question_of_the_same_millisecond_are_both_recorded() -> None:
    world, task = asking(replace(POLICY, remind=HOUR))
    world.ask(task.task_id, "second")
    world.store.before_save = lambda: world.ask(task.task_id, "third")

    assert isinstance(vote(world, task), Decision)

    assert len(callbacks(world)) == 1
    assert [one.key for one in world.stored(task).questions] == ["second", "third"]


def test_of_two_questions_that_are_asked_in_the_same_millisecond_both_are_open() -> None:
    world, task = asking(replace(POLICY, remind=HOUR))
    world.store.before_save = lambda: world.ask(task.task_id, "third")

    world.ask(task.task_id, "second")

    assert [one.key for one in world.stored(task).questions] == ["approval", "third", "second"]


def test_an_answer_of_the_caller_at_the_same_time_is_an_answer_to_the_callers_question_alone() -> None:
    world, task = asking(replace(POLICY, questions=("approval",)))
    world.ask(task.task_id, "note")
    answers = {"approval": APPROVE, "note": {"action": "accept", "content": {"amount": 1}}}
    world.store.before_save = lambda: world.answers.respond(ALICE, task.task_id, answers)

    vote(world, task, answer=REFUSE)

    assert [one["action"] for one in callbacks(world)] == ["accept", "decline"]
    assert world.stored(task).questions == ()


def test_a_decision_of_which_the_state_machine_is_not_told_yet_is_told_by_the_next_reader() -> None:
    world, task = asking()
    world.workflows.is_available = False

    assert isinstance(vote(world, task), Decision)

    assert [one.answers for one in world.stored(task).inputs.undelivered]
    world.workflows.is_available = True
    world.operations.get(ALICE, task.task_id)
    assert len(callbacks(world)) == 1


def test_a_state_that_is_retried_takes_over_the_votes() -> None:
    world, task = asking(replace(POLICY, approvals=2))
    vote(world, task)
    world.workflows.waiting.clear()

    world.ask(task.task_id, token="another token")

    (question,) = world.stored(task).questions
    assert question.number == 1
    assert [one.by for one in question.answers] == ["bob"]
    vote(world, task, CAROL)
    assert len(callbacks(world)) == 1


def test_the_same_question_to_another_audience_is_another_question() -> None:
    world, task = asking(replace(POLICY, approvals=2), audience={"scope": "emea"})
    vote(world, task, person("bob", FINANCE, HasScope("emea")))
    world.workflows.waiting.clear()

    world.ask(task.task_id, token="another token", audience={"scope": "apac"})

    first, second = world.stored(task).questions
    assert (first.number, second.number) == (1, 2)
    assert second.answers == ()


# ----------------------------------------------------------------------------------------------------- what is listed


def test_an_approver_gets_the_oldest_that_they_may_decide_each_caller_in_turn() -> None:
    world, first = asking()
    owners = [ALICE, ALICE, Principal("b" * 32), ALICE, Principal("c" * 32)]
    tasks = [first]
    for owner in owners:
        world.clock.time += HOUR / 60
        tasks.append(called(world, owner))
        world.ask(tasks[-1].task_id)

    listed = [one.task.task_id for one in approvals_in(world).open_for(BOB).questions]

    assert listed == [tasks[one].task_id for one in (0, 3, 5, 1, 2, 4)]


def test_what_somebody_has_approved_is_not_listed_again() -> None:
    world, task = asking(replace(POLICY, approvals=2))
    vote(world, task)

    assert approvals_in(world).open_for(BOB).questions == ()
    assert len(approvals_in(world).open_for(CAROL).questions) == 1


def test_a_second_audience_finds_a_question_once_it_is_time() -> None:
    chief = HasScope("chief")
    world, task = asking(replace(POLICY, escalation=Escalation(HOUR, People((chief,)))))
    assert approvals_in(world).open_for(person("chief", chief)).questions == ()

    world.clock.time += HOUR
    world.operations.get(ALICE, task.task_id)

    assert len(approvals_in(world).open_for(person("chief", chief)).questions) == 1


@pytest.mark.parametrize("count", [900, 10_000])
def test_very_many_questions_of_one_caller_are_a_bounded_read_and_hide_nobodys(count: int) -> None:
    world, task = asking()
    for number in range(count):  # older ones, and closed in the meantime
        key = QuestionKey(replace(task.key, task_id=TaskId(f"{task.task_id[:-6]}9{number:05d}")), 1)
        fakes_in(world).inbox.add(InboxEntry(key, (digest_of(FINANCE),), task.created_at - HOUR, task.expires_at))
    others = called(world, Principal("b" * 32))
    world.ask(others.task_id)
    world.store.calls.clear()

    listed = approvals_in(world).open_for(BOB).questions

    assert len(world.store.calls) <= MOST_READ // MOST_LISTED
    found = {one.task.task_id for one in listed}
    assert found == ({others.task_id} if count < MOST_FOUND else set()), "docs/limits.md has the bound"


# ---------------------------------------------------------------------------------------------------------------- trail


def test_the_audit_trail_says_what_happened_by_whom_and_which_way() -> None:
    world, task = asking(replace(POLICY, approvals=2))
    question = approvals_in(world).require(key_of(task), BOB)

    approvals_in(world).seen(question, BOB, VoteWay.CARD)
    vote(world, task, way=VoteWay.CARD)
    vote(world, task, CAROL, REFUSE, VoteWay.SIGN_IN)

    trail = [(one.action, one.details) for one in world.audit if one.action is not AuditAction.CREATED]
    assert trail == [
        (ASKED, {}),
        (SEEN, {"approver": "bob", "way": "card"}),
        (APPROVED, {"approver": "bob", "way": "card"}),
        (DECLINED, {"approver": "carol", "way": "sign-in"}),
    ]


def test_only_the_arguments_that_the_manifest_names_are_shown() -> None:
    for policy, shown in ((POLICY, {"text": "hello"}), (replace(POLICY, shown_arguments=None), {})):
        world, task = asking(policy)

        assert approvals_in(world).shown_arguments(approvals_in(world).require(key_of(task), BOB)) == shown
