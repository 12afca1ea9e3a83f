"""Who may decide a question to others, what counts, and that a question's own audience lets in nobody."""

from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Final

import pytest
from msgspec.structs import replace

from stepwire.extras.approvals.rules import (
    Approval,
    Approver,
    Approvers,
    Condition,
    Escalation,
    HasClaim,
    HasRole,
    HasScope,
    People,
    VoteWay,
    digest_of,
    narrowed,
    role_quality,
)
from stepwire.tasks.answers import Action, Decision, Given, InputResponse

AT: Final = datetime(2026, 11, 27, 9, 30, tzinfo=UTC)
HOUR: Final = timedelta(hours=1)
SCOPE: Final = HasScope("refunds.approve")
FINANCE: Final = HasClaim("groups", ("finance",))
EITHER: Final = HasClaim("groups", ("finance", "audit"))
ROLE: Final = role_quality("arn:aws:iam::123456789012:role/people/chief")


def person(*qualities: Condition, name: str = "bob", has_link: bool = False) -> Approver:
    return Approver(name, name.title(), frozenset(qualities), has_link=has_link)


def vote(by: str = "bob", *, is_approval: bool = True, way: VoteWay = VoteWay.TOOL) -> Given:
    return Given(by, AT, InputResponse(Action.ACCEPT if is_approval else Action.DECLINE), by.title(), way.value)


# -------------------------------------------------------------------------------------------------------------- fitting


@pytest.mark.parametrize(
    ("conditions", "qualities", "fits"),
    [
        ((SCOPE,), (SCOPE,), True),
        ((SCOPE,), (HasScope("refunds"),), False),
        ((FINANCE,), (HasClaim("groups", ("finance",)), HasClaim("groups", ("staff",))), True),
        ((FINANCE,), (HasClaim("roles", ("finance",)),), False),
        ((FINANCE,), (HasClaim("groups", ("Finance",)),), False),
        ((EITHER,), (HasClaim("groups", ("audit",)),), True),
        ((EITHER,), (HasClaim("groups", ("hr",)),), False),
        ((SCOPE, FINANCE), (FINANCE,), False),
        ((SCOPE, FINANCE), (SCOPE,), False),
        ((SCOPE, FINANCE), (SCOPE, FINANCE), True),
        ((ROLE,), (HasRole("arn:aws:iam::123456789012:role/chief"),), True),
        ((ROLE,), (HasRole("arn:aws:iam::210987654321:role/chief"),), False),
        ((), (SCOPE, FINANCE), False),
        ((), (), False),
    ],
)
def test_somebody_fits_who_has_all_that_an_audience_needs(
    conditions: tuple[Condition, ...], qualities: tuple[Condition, ...], *, fits: bool
) -> None:
    assert person(*qualities).fits(People(conditions)) is fits


def test_who_fits_is_found_by_a_digest_of_their_qualities() -> None:
    for conditions in ((SCOPE,), (SCOPE, FINANCE), (SCOPE, EITHER), (ROLE,)):
        audience = People(conditions)
        for alternative in ("finance", "audit")[: 1 + (EITHER in conditions)]:
            found = {digest_of(one) for one in (SCOPE, HasClaim("groups", (alternative,)), ROLE)}

            assert found & set(audience.digests)


def test_qualities_that_read_alike_have_different_digests() -> None:
    alike = [HasScope("a"), HasClaim("a", ("a",)), HasClaim("a", ()), HasRole("a"), HasClaim("scope", ("a",))]

    assert len({digest_of(one) for one in alike}) == len(alike)


# ------------------------------------------------------------------------------------------------------------- deciding


@pytest.mark.parametrize("has_link", [False, True])
def test_the_caller_decides_nothing_unless_it_is_allowed(*, has_link: bool) -> None:
    caller = person(FINANCE, name="alice", has_link=has_link)
    asked = Approval(Approvers(People((FINANCE,))), AT)
    of_all = Approval(Approvers(People((FINANCE,)), includes_caller=True), AT)

    assert not caller.may_decide(asked, "alice", AT)
    assert caller.may_decide(of_all, "alice", AT)
    assert caller.may_decide(asked, "carol", AT)


def test_who_has_a_link_needs_no_quality_and_who_has_none_does() -> None:
    asked = Approval(Approvers(People((FINANCE,))), AT)

    assert person(has_link=True).may_decide(asked, "alice", AT)
    assert not person().may_decide(asked, "alice", AT)


def test_the_second_audience_decides_from_its_time_on_and_the_first_one_too() -> None:
    asked = Approval(Approvers(People((FINANCE,)), escalation=Escalation(HOUR, People((ROLE,)))), AT)
    chief, bob = person(ROLE), person(FINANCE)

    assert not chief.may_decide(asked, "alice", AT + HOUR - timedelta(microseconds=1))
    assert chief.may_decide(asked, "alice", AT + HOUR)
    assert bob.may_decide(asked, "alice", AT + HOUR)


WAYS: Final = tuple(VoteWay)


@pytest.mark.parametrize(("before", "now"), list(product(WAYS, WAYS)))
def test_links_and_sign_ins_do_not_approve_together(before: VoteWay, now: VoteWay) -> None:
    audience, first = Approval(Approvers(approvals=3), AT).audience("alice"), (vote("ann", way=before),)

    assert audience.counts(vote(way=now), first) is ((before is VoteWay.LINK) is (now is VoteWay.LINK))
    assert audience.counts(vote(way=now, is_approval=False), first), "a refusal needs no second person"
    assert not audience.counts(vote("ann", way=now), first)
    assert not audience.counts(vote("ann", way=now, is_approval=False), first)
    assert not audience.counts(vote("alice", way=now), ())


# ------------------------------------------------------------------------------------------------------------ narrowing

POLICIES: Final = [
    Approvers(audience, approvals=approvals, includes_caller=includes, escalation=escalation, recipients=recipients)
    for audience, approvals, includes, escalation, recipients in product(
        (People(), People((FINANCE,)), People((SCOPE, EITHER))),
        (1, 2),
        (False, True),
        (None, Escalation(HOUR, People((ROLE,))), Escalation(2 * HOUR, People((SCOPE,)))),
        ((), ("ann@example.com",)),
    )
]
PEOPLE: Final = [
    person(*qualities, name=name)
    for name in ("alice", "bob")
    for qualities in ((), (SCOPE,), (FINANCE,), (SCOPE, FINANCE), (ROLE,), (ROLE, SCOPE), (SCOPE, FINANCE, ROLE))
]
TIMES: Final = [AT, AT + HOUR, AT + 2 * HOUR]


@pytest.mark.parametrize("policy", [one for one in POLICIES if one.audience.conditions], ids=str)
def test_a_questions_own_audience_lets_in_nobody(policy: Approvers) -> None:
    for own in POLICIES:
        merged = narrowed(policy, own)

        assert merged.approvals >= policy.approvals
        assert set(merged.recipients) <= set(policy.recipients)
        for approver, at in product(PEOPLE, TIMES):
            may = approver.may_decide(Approval(merged, AT), "alice", at)
            assert not may or approver.may_decide(Approval(_whole(policy), AT), "alice", at)


def _whole(policy: Approvers) -> Approvers:
    """Return a policy whose second audience, if it has none, is the first: a question may name a part of it."""
    return policy if policy.escalation else replace(policy, escalation=Escalation(timedelta(), policy.audience))


def test_without_a_question_s_own_the_policy_is_the_manifests() -> None:
    assert all(narrowed(policy, None) is policy for policy in POLICIES)


def test_a_question_says_what_the_manifest_leaves_open() -> None:
    own = Approvers(People((FINANCE,), "finance"), approvals=2, remind=HOUR)

    merged = narrowed(Approvers(shown_arguments=("id",), shows_decision=True), own)

    assert merged == replace(own, shown_arguments=("id",), shows_decision=True, has_links=False)


@pytest.mark.parametrize(
    ("bound", "own", "words"),
    [
        (People((FINANCE,), "finance"), People((), "the whole board"), "finance"),
        (People((FINANCE,), "finance"), People((SCOPE,), "the whole board"), "finance"),
        (People((FINANCE,)), People((SCOPE,), "the whole board"), "finance"),
        (People((FINANCE,)), People((HasClaim("groups", ("the whole board",)),)), "finance"),
        (People((), "somebody of ours"), People((SCOPE,), "the whole board"), "somebody of ours"),
        (People(), People((SCOPE,), "the whole board"), "the whole board"),
    ],
)
def test_what_the_manifest_calls_an_audience_no_question_replaces(bound: People, own: People, words: str) -> None:
    """A workflow may make the question's of an argument, and the caller's message has the name."""
    second = Escalation(HOUR, People((ROLE,), "the whole board"))

    merged = narrowed(Approvers(bound), Approvers(own, escalation=second))

    asked = Approval(merged, AT, is_escalated=True)
    assert asked.shown == words
    assert f"one of {words} to" in asked.audience("alice").waiting_text((), None)


@pytest.mark.parametrize(
    ("bound", "own", "has_links"),
    [
        ((EITHER,), (), True),
        ((EITHER,), (EITHER,), True),
        ((SCOPE, EITHER), (EITHER,), True),
        ((EITHER,), (FINANCE,), False),
        ((EITHER,), (SCOPE,), False),
        ((), (FINANCE,), False),
    ],
)
def test_a_condition_that_a_question_adds_is_met_by_no_link(
    bound: tuple[Condition, ...], own: tuple[Condition, ...], has_links: bool
) -> None:
    merged = narrowed(Approvers(People(bound)), Approvers(People(own), recipients=("ann@example.com",)))

    assert merged.has_links is has_links


# ------------------------------------------------------------------------------------------------------------ reminders


@pytest.mark.parametrize(
    ("remind", "after", "reminders", "is_escalated", "due"),
    [
        (None, None, 0, False, None),
        (HOUR, None, 0, False, HOUR),
        (HOUR, None, 3, False, 4 * HOUR),
        (None, 2 * HOUR, 0, False, 2 * HOUR),
        (None, 2 * HOUR, 0, True, None),
        (HOUR, HOUR / 2, 0, False, HOUR / 2),
        (HOUR, HOUR / 2, 0, True, HOUR),
    ],
)
def test_a_question_is_announced_again_when_it_is_time(
    remind: timedelta | None,
    after: timedelta | None,
    reminders: int,
    is_escalated: bool,
    due: timedelta | None,
) -> None:
    second = None if after is None else Escalation(after, People((ROLE,)))
    asked = Approval(Approvers(remind=remind, escalation=second), AT, reminders, is_escalated=is_escalated)

    assert asked.next_reminder() == (None if due is None else AT + due)


def test_reminders_that_were_missed_are_not_made_up_for() -> None:
    asked = Approval(Approvers(remind=HOUR, escalation=Escalation(3 * HOUR, People((ROLE,)))), AT)

    late = asked.reminded(AT + 5.5 * HOUR)

    assert (late.reminders, late.is_escalated) == (5, True)
    assert late.next_reminder() == AT + 6 * HOUR
    assert late.reminded(AT) == late, "what was announced stays so, whatever a clock says"
    assert asked.reminded(AT + HOUR / 2) == asked


# ---------------------------------------------------------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("audience", "words"),
    [
        (People((FINANCE,), "the people of finance"), "the people of finance"),
        (People((SCOPE,)), "those with refunds.approve"),
        (People((SCOPE, EITHER)), "finance or audit"),
        (People((ROLE,)), "chief"),
        (People(), "the approvers"),
        (People((HasClaim("groups", ("x" * 200,)),)), "x" * 100),
    ],
)
def test_an_audience_is_called_by_its_name_or_by_what_it_needs(audience: People, words: str) -> None:
    assert audience.shown == words


def test_what_a_caller_reads_says_whom_it_waits_for_and_until_when() -> None:
    policy = Approvers(
        People((FINANCE,), "finance"), approvals=2, escalation=Escalation(HOUR, People((ROLE,), "the chief"))
    )
    asked = Approval(policy, AT)

    assert asked.audience("alice").waiting_text((), None) == "Waits for 2 of finance to decide."
    escalated = replace(asked, is_escalated=True).audience("alice")
    assert escalated.waiting_text((vote(),), AT) == (
        "Waits for one of finance or the chief to decide, until Friday 2026-11-27 09:30 UTC."
    )


@pytest.mark.parametrize(
    ("votes", "with_names", "words"),
    [
        ((vote("ann"), vote()), False, "finance approved, 2026-11-27 09:30 UTC."),
        ((vote("ann"), vote()), True, "Ann and Bob of finance approved, 2026-11-27 09:30 UTC."),
        ((vote("ann"), vote(is_approval=False)), True, "Bob of finance refused, 2026-11-27 09:30 UTC."),
    ],
)
def test_a_decision_says_who_has_made_it_if_they_may_be_named(
    votes: tuple[Given, ...],
    with_names: bool,
    words: str,
) -> None:
    decision = Decision(1, "approval", "finance", votes)

    assert decision.text(with_names=with_names) == words
