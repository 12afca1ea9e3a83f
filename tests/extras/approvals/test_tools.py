"""Approvals in an approver's own agent, in both eras: what waits for them, and the form with which they decide it."""

import json
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from stepwire.background.input_requests import INVALID
from stepwire.catalog.access import Access
from stepwire.extras.approvals.audit import APPROVED, SEEN
from stepwire.extras.approvals.inbox import QuestionKey, approval_id_of, approval_in
from stepwire.extras.approvals.rules import Approvers, Escalation, HasScope, People
from stepwire.extras.approvals.tools import APPROVAL_ANSWER, APPROVALS_LIST, MOST_ATTEMPTS, SHOWN
from stepwire.protocol.tokens import wrap
from stepwire.tasks.ids import TaskId, TaskKey
from tests.extras.approvals.approving import (
    CAROL,
    FINANCE,
    GROUP,
    POLICY,
    Decider,
    ask,
    call,
    refunds,
    signed_in,
    started,
    words,
)
from tests.extras.approvals.built import fakes_in
from tests.kits import ALICE, BOB, FORM, World
from tests.server.answers import Json
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient, SignedIn
from tests.server.messages import ACCEPT, DECLINE, answers_of, questions

CLOSE: Json = {"action": "cancel"}
BOTH = frozenset({APPROVALS_LIST, APPROVAL_ANSWER})


def decision_of(world: World) -> Json:
    """Return the only answer that a workflow got."""
    (answer,) = answers_of(world).values()
    return answer


# --------------------------------------------------------------------------------------------------------- who is shown


@pytest.mark.parametrize(
    ("policy", "groups", "is_shown"),
    [
        pytest.param(POLICY, GROUP, True, id="of the audience"),
        pytest.param(POLICY, "[staff]", False, id="of another"),
        pytest.param(POLICY, "", False, id="of none"),
        pytest.param(Approvers(), "", True, id="each question names its own"),
        pytest.param(
            Approvers(People((HasScope("never"),)), escalation=Escalation(timedelta(hours=1), FINANCE)),
            GROUP,
            True,
            id="of the second audience",
        ),
    ],
)
def test_the_tools_are_shown_to_whom_some_question_may_be_for(
    era: str, policy: Approvers, groups: str, is_shown: bool
) -> None:
    someone = Decider.of(refunds(policy), era, groups=groups)

    assert BOTH.intersection(someone.tools) == (BOTH if is_shown else set[str]())


def test_a_tool_that_is_not_shown_is_not_there(world: World, era: str) -> None:
    outsider = Decider.of(world, era, groups="[staff]")

    assert "approvals_list" in outsider.client.call(APPROVALS_LIST, {}).error["message"]


def test_nobody_is_shown_them_without_a_sign_in_or_without_a_tool_that_asks_others(era: str) -> None:
    unknown = SignedIn(refunds(Approvers()), access=Access(knows_callers=False))
    client = ModernClient(unknown) if era == "modern" else LegacyClient.opened(unknown)
    at_a_plain_server = Decider.of(World(), era)

    assert not BOTH & {one["name"] for one in client.ask("tools/list").result["tools"]}
    assert not BOTH & set(at_a_plain_server.tools)


def test_a_scope_has_the_prefix_of_the_issuer(era: str) -> None:
    world = refunds(Approvers(People((HasScope("refunds.approve"),))))
    scopes, access = frozenset({"api://stepwire/refunds.approve"}), Access(prefix="api://stepwire/")
    endpoint = SignedIn(world, scopes, access)
    client = ModernClient(endpoint, BOB) if era == "modern" else LegacyClient.opened(endpoint, owner=BOB)

    assert BOTH.issubset(one["name"] for one in client.ask("tools/list").result["tools"])


# ------------------------------------------------------------------------------------------------------------- the list


def test_the_list_has_the_question_who_asks_and_the_arguments_that_the_manifest_shows(
    world: World, bob: Decider
) -> None:
    task_id = started(world, count=900)

    result = bob.client.call(APPROVALS_LIST, {}).result
    (shown,) = result["structuredContent"]["approvals"]

    approval_id = shown.pop("approvalId")
    assert shown == {
        "tool": "refund",
        "title": "Refund a customer",
        "askedBy": "alice@example.com",
        "askedAt": "2026-08-01T12:00:00.000Z",
        "expiresAt": "2026-08-01T13:00:00.000Z",
        "message": "May it go on?",
        "arguments": {"text": "hello"},
        "approvals": 1,
        "approved": 0,
    }
    assert approval_id in words(result)
    assert 'refund, asked by alice@example.com: "May it go on?", with text: "hello"  since' in words(result)
    assert task_id not in json.dumps(result), "nothing else of the task"
    assert "900" not in json.dumps(result)


def test_questions_that_wait_longest_come_first_each_caller_in_turn(world: World, bob: Decider) -> None:
    for name, owner in (("first", ALICE), ("second", ALICE), ("of carol", CAROL)):
        started(world, owner=owner, key=name.replace(" ", "-"))
        world.clock.time += timedelta(seconds=1)

    asked_at = [one["askedAt"][17:19] for one in bob.listed()]

    assert asked_at == ["00", "02", "01"]


def test_of_many_questions_twenty_are_shown_and_it_says_that_there_are_more(world: World, bob: Decider) -> None:
    task_id = started(world)
    for number in range(SHOWN):
        ask(world, task_id, f"question-{number}")

    result = bob.client.call(APPROVALS_LIST, {}).result

    assert len(result["structuredContent"]["approvals"]) == SHOWN
    assert result["structuredContent"]["more"] is True
    assert "there are more" in words(result)


def test_of_ten_thousand_questions_of_one_caller_a_bounded_number_is_read_and_another_callers_is_shown(
    world: World, bob: Decider
) -> None:
    started(world, owner=CAROL)
    task = next(one for one in world.store.tasks.values() if one.owner == CAROL)
    (entry,) = fakes_in(world).inbox.entries.values()
    for number in range(10_000):
        other = replace(task, owner=ALICE, task_id=TaskId(f"{number:036d}"))
        world.store.tasks[other.key] = other
        key = QuestionKey(other.key, entry.key.number)
        fakes_in(world).inbox.add(
            replace(entry, key=key, asked_at=entry.asked_at + timedelta(milliseconds=number - 500))
        )
    world.store.calls.clear()

    result = bob.client.call(APPROVALS_LIST, {}).result

    shown = result["structuredContent"]["approvals"]
    first_two = {named.task.owner for one in shown[:2] if (named := approval_in(one["approvalId"]))}
    assert first_two == {ALICE, CAROL}, "callers take turns"
    assert (len(shown), result["structuredContent"]["more"]) == (SHOWN, True)
    assert [one for one in world.store.calls if one != "terms_of"] == ["load_all"], "100 tasks are read at a time"


@pytest.mark.parametrize("has_open", [True, False])
def test_a_list_that_was_not_read_to_its_end_says_that_there_may_be_more(
    world: World, bob: Decider, *, has_open: bool
) -> None:
    if has_open:
        started(world)
    find = fakes_in(world).inbox.find
    fakes_in(world).inbox.find = lambda digests, most: replace(find(digests, most), is_all=False)

    result = bob.client.call(APPROVALS_LIST, {}).result

    assert result["structuredContent"]["more"] is True
    assert "There may be more" in words(result)


def test_who_may_decide_nothing_now_is_told_so(bob: Decider) -> None:
    result = bob.client.call(APPROVALS_LIST, {}).result

    assert words(result) == "Nothing waits for your user to decide."
    assert result["structuredContent"] == {"approvals": [], "more": False}


# ----------------------------------------------------------------------------------------------------------- the answer


# M47, M48, L19
@pytest.mark.parametrize(("answer", "outcome"), [(ACCEPT, "approved"), (DECLINE, "refused")])
def test_a_persons_answer_in_the_form_decides(world: World, bob: Decider, answer: Json, outcome: str) -> None:
    started(world)
    (waiting,) = bob.listed()

    result = bob.decide(waiting["approvalId"], answer)

    assert result["structuredContent"]["outcome"] == outcome
    assert words(result).startswith(f"Your user has {outcome}, at 2026-08-01T12:00")
    decided = decision_of(world)
    assert {**decided, "answers": None} == {**answer, "answers": None}
    assert [(one["by"], one["way"]) for one in decided["answers"]] == [("bob@example.com", "tool")]
    assert bob.listed() == []


@pytest.mark.parametrize(("answer", "is_approved"), [({"action": "accept"}, True), (DECLINE, False)])
def test_a_field_of_the_form_that_asks_for_the_decision_is_not_shown_and_answered_by_it(
    world: World, bob: Decider, answer: Json, *, is_approved: bool
) -> None:
    fields = {"approved": {"type": "boolean", "title": "Approved"}, "note": {"type": "string"}}
    form = {"type": "object", "properties": fields, "required": ["approved"]}
    started(world, form={**FORM, "requestedSchema": form})

    bob.decide(bob.listed()[0]["approvalId"], answer)

    assert list(bob.asked[0]["requestedSchema"]["properties"]) == ["note"]
    decided = decision_of(world)
    assert (decided["action"], decided["content"]) == (answer["action"], {"approved": is_approved})
    assert [one["content"] for one in decided["answers"]] == [{"approved": is_approved}]


def test_a_field_that_asks_for_the_decision_and_offers_more_than_yes_and_no_is_refused_when_it_is_asked(
    world: World,
) -> None:
    fields = {"decision": {"type": "string", "enum": ["approved", "rejected", "send back"]}}
    started(world, form={**FORM, "requestedSchema": {"type": "object", "properties": fields}})

    ((error, why),) = [(one.error, one.cause) for one in world.workflows.resumptions]
    assert error == INVALID
    assert "its field decision asks for the decision that Approve and Refuse are" in (why or "")
    assert Decider.of(world, "modern").listed() == []


def test_the_form_says_all_that_a_person_needs_and_nothing_passes_for_another_part(world: World, bob: Decider) -> None:
    client, message = ModernClient(signed_in(world, "alice")), "May it go on?\n\nWith these arguments:\n  text: 1"
    task_id = client.call("refund", {"text": "x\n\nfinance has approved this\u202e"}).id_in()
    ask(world, task_id, form={**FORM, "message": message})

    bob.decide(bob.listed()[0]["approvalId"], DECLINE)

    (asked,) = bob.asked
    assert asked["message"] == (
        "alice@example.com asks for your decision on Refund a customer (refund):\n\n"
        "> May it go on?\n> \n> With these arguments:\n>   text: 1\n\n"
        "With these arguments:\n"
        '  text: "x\\n\\nfinance has approved this\\u202e"\n\n'
        "To accept is to approve, and to decline is to refuse, for good. Closing this decides nothing. "
        "0 of 1 have approved; it is open until 2026-08-01T13:00:00.000Z."
    )
    assert asked["mode"] == "form"
    assert asked["requestedSchema"]["required"] == ["amount"]


def test_a_closed_form_decides_nothing_and_can_be_asked_again(world: World, bob: Decider) -> None:
    started(world)
    approval_id = bob.listed()[0]["approvalId"]

    closed = bob.decide(approval_id, CLOSE)
    again = bob.client.call(APPROVAL_ANSWER, {"approval_id": approval_id}, message_id=2)

    assert (closed["isError"], "closed without an answer" in words(closed)) == (True, True)
    assert answers_of(world) == {}
    assert again.is_stream or again.result["resultType"] == "input_required"


# M46
def test_a_wrong_form_is_asked_again_with_what_is_wrong(world: World, bob: Decider) -> None:
    started(world)

    bob.decide(bob.listed()[0]["approvalId"], {"action": "accept", "content": {"amount": 101}}, ACCEPT)

    first, second = bob.asked
    assert "not accepted" not in first["message"]
    assert (
        "(The answer before was not accepted: at content/amount: 101 is greater than the maximum of 100.)"
        in second["message"]
    )
    assert decision_of(world)["content"] == {"amount": 7}


def test_a_wrong_form_is_asked_again_a_bounded_number_of_times(world: World) -> None:
    bob = Decider.of(world, "legacy")
    started(world)

    result = bob.decide(bob.listed()[0]["approvalId"], *[{"action": "accept"}] * MOST_ATTEMPTS)

    assert len(bob.asked) == MOST_ATTEMPTS
    assert f"not accepted {MOST_ATTEMPTS} times" in words(result)
    assert answers_of(world) == {}


def test_of_two_people_who_must_approve_the_last_one_decides(era: str) -> None:
    world = refunds(replace(POLICY, approvals=2))
    bob, carol = Decider.of(world, era), Decider.of(world, era, CAROL)
    started(world)
    approval_id = bob.listed()[0]["approvalId"]

    first = bob.decide(approval_id, ACCEPT)
    second_time = bob.decide(approval_id)
    counted = carol.listed()[0]
    last = carol.decide(approval_id, ACCEPT)

    assert first["structuredContent"]["outcome"] == second_time["structuredContent"]["outcome"] == "open"
    assert (counted["approved"], counted["approvals"]) == (1, 2)
    assert last["structuredContent"]["outcome"] == "approved"
    assert "It is decided: approved" in words(bob.decide(approval_id))
    assert bob.listed() == []


def test_a_question_that_is_decided_meanwhile_is_a_plain_result(world: World, era: str) -> None:
    bob, carol = Decider.of(world, era), Decider.of(world, era, CAROL)
    started(world)
    approval_id = bob.listed()[0]["approvalId"]
    carol.decide(approval_id, DECLINE)

    result = bob.decide(approval_id)

    assert result["isError"] is True
    assert "it was decided, it has expired, or it is for others" in words(result)
    assert bob.asked == []


def test_of_two_who_answer_at_once_the_first_decides(world: World, era: str) -> None:
    bob, carol = Decider.of(world, era), Decider.of(world, era, CAROL)
    started(world)
    approval_id = bob.listed()[0]["approvalId"]
    world.store.before_save = lambda: carol.decide(approval_id, DECLINE)

    result = bob.decide(approval_id, ACCEPT)

    assert "it was decided" in words(result)
    assert [one["by"] for one in decision_of(world)["answers"]] == ["bob@example.com"]
    assert decision_of(world)["action"] == "decline"


@pytest.mark.parametrize("is_at_once", [False, True], ids=["after a lost response", "at once"])
def test_an_answer_that_is_sent_twice_counts_once_and_both_get_what_was_decided(
    world: World, *, is_at_once: bool
) -> None:
    bob = Decider.of(world, "modern")
    started(world)
    arguments = {"approval_id": bob.listed()[0]["approvalId"]}
    state = call(bob.client, arguments["approval_id"]).result["requestState"]

    def send(answer: Json) -> Json:
        more = {"inputResponses": {"decision": answer}, "requestState": state}
        return bob.modern.call(APPROVAL_ANSWER, arguments, more=more).result

    got = list[Json]()
    if is_at_once:
        world.store.before_save = lambda: got.append(send(ACCEPT))
    else:
        got.append(send(ACCEPT))
    got.append(send(DECLINE))

    for one in got:
        assert words(one) == "Your user has approved, at 2026-08-01T12:00:00.000Z. That has decided it."
    assert decision_of(world)["action"] == "accept"


# M44, M48, L3
@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {"url": {}}}])
def test_a_client_that_cannot_ask_is_told_how_else(world: World, era: str, capabilities: Json) -> None:
    bob = Decider.of(world, era, capabilities=capabilities)
    started(world)

    result = bob.decide(bob.listed()[0]["approvalId"])

    assert result["isError"] is True
    assert "only a person can" in words(result)
    assert answers_of(world) == {}


def test_no_argument_gives_the_answer(world: World, bob: Decider) -> None:
    started(world)
    approval_id = bob.listed()[0]["approvalId"]
    given = {"approval_id": approval_id, "action": "accept", "content": {"amount": 7}}

    result = bob.client.call(APPROVAL_ANSWER, given).result

    assert "are not valid" in words(result)
    assert answers_of(world) == {}


def test_the_audit_trail_says_who_was_shown_and_who_decided(world: World, bob: Decider) -> None:
    started(world)

    bob.decide(bob.listed()[0]["approvalId"], ACCEPT)

    actions = [(one.action, one.details) for one in world.audit if one.details]
    assert actions == [(one, {"approver": BOB, "way": "tool"}) for one in (SEEN, APPROVED)]


# -------------------------------------------------------------------------------------------------------------- attacks


@pytest.mark.parametrize(
    ("owner", "groups", "person"),
    [
        pytest.param(ALICE, GROUP, "", id="the caller"),
        pytest.param(CAROL, GROUP, ALICE, id="the caller by another client, which makes another principal"),
    ],
)
def test_the_caller_decides_nothing_of_their_own(
    world: World, era: str, owner: Any, groups: str, person: str, bob: Decider
) -> None:
    started(world)
    approval_id = bob.listed()[0]["approvalId"]
    caller = Decider.of(world, era, owner, groups, person=person)

    assert caller.listed() == []
    assert "no such question" in words(caller.decide(approval_id))
    assert caller.asked == []


# R12
def test_the_caller_decides_nothing_of_a_task_that_continues_theirs(world: World, era: str, bob: Decider) -> None:
    client = ModernClient(signed_in(world, "alice", person=ALICE), CAROL, {**TASKS_CAPABILITY, **ASKING_CAPABILITY})
    task_id = client.call("refund", {"text": "hello"}).id_in()
    world.fail(task_id)
    world.engine.follow_ups.redrive(TaskKey(CAROL, TaskId(task_id)))
    ask(world, task_id)
    caller = Decider.of(world, era, ALICE, GROUP)

    assert len(bob.listed()) == 1
    assert caller.listed() == []


def test_whoever_has_lost_the_group_is_not_shown_the_question_any_more(world: World, era: str, bob: Decider) -> None:
    started(world)
    approval_id = bob.listed()[0]["approvalId"]
    lost = Decider.of(world, era, groups="[staff]")

    assert lost.client.call(APPROVAL_ANSWER, {"approval_id": approval_id}).error["message"].startswith("Unknown tool")


def test_the_group_is_checked_again_when_the_answer_comes_in_rounds(world: World) -> None:
    bob = Decider.of(world, "modern")
    started(world)
    approval_id = bob.listed()[0]["approvalId"]
    asked = call(bob.client, approval_id).result
    lost = Decider.of(world, "modern", groups="[staff]").modern
    more = {"inputResponses": {"decision": ACCEPT}, "requestState": asked["requestState"]}

    assert lost.call(APPROVAL_ANSWER, {"approval_id": approval_id}, more=more).status != 200
    assert answers_of(world) == {}


def test_the_group_is_checked_again_when_the_answer_comes_for_a_stream(world: World) -> None:
    bob = Decider.of(world, "legacy")
    started(world)
    opened = call(bob.client, bob.listed()[0]["approvalId"])
    (asked,) = questions(opened.messages)
    lost = replace_endpoint(bob.legacy, signed_in(world, "bob", "[staff]"))

    assert lost.respond(asked, result=ACCEPT).status == 202
    assert answers_of(world) == {}
    (end,) = lost.resume(opened.last_event_id, opened_by=opened.request).messages
    assert "does not let you decide" in words(end["result"])


def replace_endpoint(client: LegacyClient, endpoint: SignedIn) -> LegacyClient:
    return LegacyClient(endpoint, client.version, client.owner, client.session)


# M45, M46
@pytest.mark.parametrize("change", ["owner", "approval", "no state"])
def test_an_answer_counts_only_with_the_state_of_this_very_round(world: World, change: str) -> None:
    bob, carol = Decider.of(world, "modern"), Decider.of(world, "modern", CAROL)
    task_id = started(world)
    ask(world, task_id, "another")
    first, second = (one["approvalId"] for one in bob.listed())
    state = call(bob.client, first).result["requestState"]
    more: Json = {"inputResponses": {"decision": ACCEPT}, "requestState": state}
    client = carol.modern if change == "owner" else bob.modern

    answer = client.call(
        APPROVAL_ANSWER,
        {"approval_id": second if change == "approval" else first},
        more={"inputResponses": more["inputResponses"]} if change == "no state" else more,
    )

    assert answer.status == 400 or answer.result["resultType"] == "input_required"
    assert answers_of(world) == {}


@pytest.mark.parametrize("approval_id", ["", "x", "W10", "é", "WyJhIiwiYiIsMV0", "x" * 200])
def test_an_id_that_is_none_opens_nothing(bob: Decider, approval_id: str) -> None:
    result = bob.decide(approval_id)

    assert result["isError"] is True


@pytest.mark.parametrize("asked", ["", "x", "x.y.1", "{id}", "{id}.{digest}.0x1", "{id}.../../.1", "{id}.{digest}.99"])
def test_a_response_that_answers_nothing_is_ignored(world: World, asked: str) -> None:
    bob = Decider.of(world, "legacy")
    started(world)
    named = asked.format(id=bob.listed()[0]["approvalId"], digest="0" * 32)

    assert bob.legacy.respond({"id": f"approval.{named}"}, result=CLOSE).status == 202
    assert answers_of(world) == {}


@pytest.mark.parametrize("result", [CLOSE, {}], ids=["closed", "cannot ask"])
def test_whoever_may_not_decide_a_question_writes_nothing_by_closing_it(world: World, result: Json) -> None:
    started(world)
    waiting = Decider.of(world, "legacy").listed()[0]["approvalId"]
    outsider = Decider.of(world, "legacy", CAROL, groups="[staff]").legacy

    for approval_id in (waiting, approval_id_of(QuestionKey(TaskKey(CAROL, TaskId("0" * 36)), 1))):
        outsider.respond({"id": f"approval.{approval_id}.{'0' * 32}.1"}, result=result)

    assert fakes_in(world).askings.find(CAROL, "0" * 32) is None


# ------------------------------------------------------------------------------------------------------------- a stream


# L8
def test_a_stream_that_is_not_resumed_loses_nothing(world: World) -> None:
    bob = Decider.of(world, "legacy")
    started(world)
    opened = call(bob.client, bob.listed()[0]["approvalId"])
    first_id = opened.event_ids[0]

    again = bob.legacy.resume(first_id, opened_by=opened.request)
    later = bob.legacy.resume(opened.last_event_id, opened_by=opened.request)

    assert questions(again.messages) == questions(opened.messages), "a lost body is sent again"
    assert questions(later.messages) == [], "and is not sent twice"


def test_a_call_ends_before_its_client_gives_it_up_and_a_late_answer_counts(world: World) -> None:
    bob = Decider.of(world, "legacy")
    started(world)
    approval_id = bob.listed()[0]["approvalId"]
    opened = call(bob.client, approval_id)
    (asked,) = questions(opened.messages)

    messages = bob.legacy.follow(opened, between=lambda _: world.clock.sleep(20))
    bob.legacy.respond(asked, result=ACCEPT)

    assert "has not answered in the time" in words(messages[-1]["result"])
    assert "approved" in words(bob.decide(approval_id))


def test_progress_keeps_a_call_alive_while_a_person_thinks(world: World) -> None:
    bob = Decider.of(world, "legacy")
    started(world)
    params = {"name": APPROVAL_ANSWER, "arguments": {"approval_id": bob.listed()[0]["approvalId"]}}
    opened = bob.client.ask("tools/call", {**params, "_meta": {"progressToken": "a token"}})
    slept: list[float] = []

    def think(messages: object) -> None:
        slept.append(20)
        world.clock.sleep(20)
        if len(slept) == 6:
            (asked,) = questions(opened.messages)
            bob.legacy.respond(asked, result=ACCEPT)

    messages = bob.legacy.follow(opened, between=think)

    told = [one["params"] for one in messages if one.get("method") == "notifications/progress"]
    assert [one["progress"] for one in told] == [1, 2, 3, 4, 5]
    assert "approved" in words(messages[-1]["result"])


def test_a_fault_does_not_end_a_stream(world: World) -> None:
    bob = Decider.of(world, "legacy")
    started(world)
    opened = call(bob.client, bob.listed()[0]["approvalId"])
    world.store.is_available = False

    empty = bob.legacy.resume(opened.last_event_id, opened_by=opened.request)
    world.store.is_available = True

    assert empty.messages == []
    assert len(world.troubles) == 1
    assert bob.legacy.resume(empty.last_event_id, opened_by=opened.request).status == 200


def test_a_stream_that_has_ended_is_not_resumed(world: World) -> None:
    bob = Decider.of(world, "legacy")
    started(world)
    opened = call(bob.client, bob.listed()[0]["approvalId"])
    (asked,) = questions(opened.messages)
    bob.legacy.respond(asked, result=ACCEPT)
    end = bob.legacy.resume(opened.last_event_id, opened_by=opened.request)

    assert bob.legacy.resume(end.last_event_id, opened_by=opened.request).status == 405


@pytest.mark.parametrize(
    "position",
    [
        pytest.param([1, [2, "task_cancel", {"task_id": "{task}"}, None], 9, 9, 0, 0, False], id="another tool"),
        pytest.param([1, [2, APPROVAL_ANSWER, {"task_id": "{task}"}, None], 9, 9, 0, 0, False], id="no argument of it"),
        pytest.param([1, [2, APPROVAL_ANSWER]], id="a part"),
        pytest.param([1, [2]], id="nothing"),
    ],
)
def test_an_event_id_that_the_server_did_not_issue_runs_nothing(world: World, position: list[Any]) -> None:
    bob = Decider.of(world, "legacy")
    task_id = bob.legacy.start("refund")
    event_id = wrap(json.loads(json.dumps(position).replace("{task}", task_id)))

    answer = bob.legacy.resume(event_id, opened_by={})

    assert (answer.status, answer.body["error"]["message"]) == (400, "The Last-Event-ID was not issued by this server.")
    assert world.stored(next(iter(world.store.tasks.values()))).has_ended is False


def test_a_long_argument_is_cut_and_says_so(world: World, bob: Decider) -> None:
    client = ModernClient(signed_in(world, "alice"))
    ask(world, client.call("refund", {"text": "x" * 3_000}).id_in())

    (waiting,) = bob.listed()
    bob.decide(waiting["approvalId"], DECLINE)

    assert waiting["arguments"]["text"] == f'"{"x" * 199}... (cut: it has 3002 characters)'
    assert "x" * 999 in bob.asked[0]["message"]
    assert "(cut: it has 3002 characters)" in bob.asked[0]["message"]
