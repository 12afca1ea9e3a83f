"""Links: the same for the same question, one person each, good with the secrets of a rotation, and sealed."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepwire.changes import TaskChange
from stepwire.extras.approvals.changes import Happened, approval_changes
from stepwire.extras.approvals.inbox import QuestionKey
from stepwire.extras.approvals.page.links import Link, LinkMode, Links, link_of, sealed
from stepwire.extras.approvals.page.sealed import Purpose, seal, unseal
from stepwire.json_text import Json
from stepwire.principal import Principal
from stepwire.protocol.tokens import encode
from stepwire.tasks.ids import TaskId, TaskKey
from tests.extras.approvals.approving import POLICY, refunds, started
from tests.kits import ALICE

OLD, NEW = b"an old secret", b"a new secret"
KEY: Final = QuestionKey(TaskKey(Principal("a" * 32), TaskId("0" * 36)), 1)
LINK: Final = Link(KEY, None, datetime(2026, 11, 27, 12, tzinfo=UTC), needs_sign_in=False)


def test_a_link_says_what_it_was_made_with() -> None:
    for link in (LINK, replace(LINK, recipient=0), replace(LINK, needs_sign_in=True)):
        assert link_of(sealed(link, NEW), lambda: [NEW]) == link


def test_a_reminder_has_the_same_link_although_a_retried_state_waits_longer() -> None:
    world = refunds()
    task = world.store.tasks[TaskKey(ALICE, TaskId(started(world, timeout_seconds=600)))]

    (asked,) = approval_changes(TaskChange(None, task, world.clock.now()))
    longer = replace(asked.request, expires_at=asked.expires_at + timedelta(minutes=5))
    reminded = replace(asked, request=longer, happened=Happened.REMINDED)

    links = Links(LinkMode.LINK, "https://mcp.example", lambda: NEW)
    assert links.of(reminded) == links.of(asked) != []


def test_after_a_rotation_an_old_link_is_good_and_the_person_the_same() -> None:
    old, new = (link_of(sealed(LINK, secret), lambda: [NEW, OLD]) for secret in (OLD, NEW))

    assert old is not None
    assert new is not None
    assert old.person == new.person


def test_the_current_secret_is_tried_before_any_other_costs_a_call() -> None:
    def secrets() -> Iterator[bytes]:
        yield NEW
        raise AssertionError("another secret was read")

    assert link_of(sealed(LINK, NEW), secrets) == LINK


def test_each_question_and_each_recipient_is_another_person() -> None:
    links = [LINK, replace(LINK, recipient=0), replace(LINK, recipient=1), replace(LINK, key=replace(KEY, number=2))]

    assert len({one.person for one in links}) == len(links)
    assert replace(LINK, until=LINK.until + timedelta(days=1)).person == LINK.person


@pytest.mark.parametrize(
    ("includes_caller", "named"),
    [
        (False, ["bob@example.com", "carol@example.com"]),
        (True, ["bob@example.com", "Alice@example.com", "carol@example.com"]),
    ],
)
def test_the_caller_has_a_link_of_their_own_question_only_where_they_may_decide_it(
    includes_caller: bool, named: list[str]
) -> None:
    recipients = ("bob@example.com", "Alice@example.com", "carol@example.com")
    world = refunds(replace(POLICY, recipients=recipients, includes_caller=includes_caller))
    task = world.store.tasks[TaskKey(ALICE, TaskId(started(world)))]

    (asked,) = approval_changes(TaskChange(None, task, world.clock.now()))
    made = Links(LinkMode.LINK, "https://mcp.example", lambda: NEW).of(asked)

    assert [one["to"] for one in made] == named
    last = link_of(made[-1]["url"].rpartition("/")[2], lambda: [NEW])
    assert last is not None
    assert last.recipient == 2  # the place in the list, however many links there are


@pytest.mark.parametrize("value", [None, [], {}, "x", ["a" * 32, "0" * 36, 1, -1, 1], [1, 2, 3, 4, 5, 6]])
def test_what_is_sealed_but_no_link(value: Json) -> None:
    assert link_of(seal(value, Purpose.APPROVAL_LINK, NEW), lambda: [NEW]) is None


@given(st.text(max_size=300))
def test_no_other_text_is_a_link(text: str) -> None:
    assert link_of(text, lambda: [NEW]) is None


@pytest.mark.parametrize("purpose", Purpose)
def test_a_sealed_token_is_written_in_one_way_alone(purpose: Purpose) -> None:
    tokens = [seal("a" * length, purpose, NEW) for length in range(40)]
    base64url = encode(bytes(range(256))) + "-_"

    again = [token[:-1] + letter for token in tokens for letter in {*base64url, ""} if letter != token[-1]]
    again += [f"{token}=" for token in tokens] + [f"{token}==" for token in tokens]
    again += [token.replace("-", "+").replace("_", "/") for token in tokens if not {"-", "_"}.isdisjoint(token)]

    assert not [one for one in again if unseal(one, purpose, NEW) is not None]


@given(st.binary(max_size=64), st.sampled_from(Purpose), st.integers(min_value=0))
def test_a_sealed_token_opens_whole_for_its_purpose_and_secret_alone(
    secret: bytes, purpose: Purpose, place: int
) -> None:
    value: Json = {"task": "0" * 36, "n": [1, None, "ü"]}
    token = seal(value, purpose, secret)
    at = place % len(token)
    changed = token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :]

    assert unseal(token, purpose, secret) == value
    assert unseal(token[:-2], purpose, secret) is None
    assert unseal(token, purpose, secret + b"x") is None
    assert all(unseal(token, other, secret) is None for other in Purpose if other is not purpose)
    assert unseal(changed, purpose, secret) is None
    assert "0" * 36 not in token
