"""The checks of the official suite's scenarios for MCP Events, which are in no released package.

`conformance_checks.csv` has all of them, by the names that pull request 504 of
modelcontextprotocol/conformance gives them (`sep-9999-` left out), each with our test or the reason why it does not
apply. The tests here are those that no other file had.
"""

import ast
import base64
import csv
import hashlib
import hmac
import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from stepwire.errors import InvalidParams, ProtocolError
from stepwire.extras.events.events import FINISHED, STATUS_CHANGED
from stepwire.extras.events.ports import Answer
from stepwire.extras.events.refusals import (
    CallbackEndpointError,
    EntityNotFound,
    Forbidden,
    ResourceExhausted,
    Unsupported,
)
from tests.extras.events.built import fakes_of
from tests.extras.events.event_types import EVENT_NAMES
from tests.extras.events.fakes import Post, echo
from tests.extras.events.test_polls import ended, poll, tell
from tests.extras.events.test_webhooks import SECRET, URL, deliver, subscribe, wish
from tests.kits import ALICE, World
from tests.server.clients import ModernClient

ROOT: Final = Path(__file__).parents[3]
_CHECKS: Final = Path(__file__).with_name("conformance_checks.csv").read_text(encoding="utf-8")
CHECKS: Final = list(csv.DictReader(_CHECKS.splitlines()))
SCENARIOS: Final = {"discovery": 12, "poll": 33, "push": 17, "webhook": 27, "webhook-delivery": 28, "": 14}
"""How many checks each scenario of the suite makes; those without a scenario are declared, and made by none."""


@cache
def _tests_in(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(one.name for one in tree.body if isinstance(one, ast.FunctionDef))


def test_all_checks_of_the_suite_are_listed_once() -> None:
    assert Counter(one["scenario"] for one in CHECKS) == SCENARIOS
    assert len({one["check"] for one in CHECKS}) == sum(SCENARIOS.values()) == 131


@pytest.mark.parametrize("check", CHECKS, ids=lambda one: one["check"])
def test_a_check_has_a_test_or_a_reason(check: dict[str, str]) -> None:
    path, _, name = check["shown_by"].partition("::")

    assert bool(name) != bool(check["reason"]), "either a test or a reason"
    assert not name or name in _tests_in(path)


# ---------------------------------------------------------------------------------------------------------- discovery


def test_a_type_is_described_in_full(modern: ModernClient) -> None:
    listed = modern.ask("events/list").result["events"]

    assert {one["name"] for one in listed} == set(EVENT_NAMES)
    for one in listed:
        assert one["description"].endswith(".")
        assert one["inputSchema"]["properties"].keys() == {"tool", "taskId"}
        assert "required" not in one["inputSchema"], "a client may subscribe without arguments"
        assert one["payloadSchema"]["required"]


def test_all_errors_of_events_are_in_the_servers_range() -> None:
    errors: list[type[ProtocolError]] = [EntityNotFound, Forbidden, ResourceExhausted, Unsupported]

    assert [error.code for error in (*errors, CallbackEndpointError)] == [*range(-32011, -32016, -1)]
    assert InvalidParams.code == -32602


def test_push_is_an_unknown_method_and_an_unsupported_mode(modern: ModernClient) -> None:
    unknown = modern.ask("events/stream", {"name": FINISHED}).error
    unsupported = modern.ask("events/subscribe", wish() | {"delivery": {"mode": "push", "url": URL}}).error

    assert unknown["code"] == -32601
    assert (unsupported["code"], unsupported["data"]) == (-32014, {"feature": "deliveryMode", "value": "push"})


# --------------------------------------------------------------------------------------------------------------- poll


def test_a_quiet_poll_has_all_members(modern: ModernClient) -> None:
    result = poll(modern).result

    assert result["events"] == []
    assert result["cursor"]
    assert (result["truncated"], result["hasMore"]) == (False, False)
    assert result["nextPollMs"] >= 1_000


def test_an_absent_cursor_is_null(modern: ModernClient, world: World) -> None:
    tell(world, ended(world))

    absent = modern.ask("events/poll", {"name": FINISHED, "arguments": {}}).result
    null = poll(modern, FINISHED).result

    assert absent == null


def test_a_poll_needs_no_earlier_one(modern: ModernClient, world: World) -> None:
    cursor = poll(modern).result["cursor"]
    tell(world, ended(world))
    poll(modern, cursor=poll(modern, cursor=cursor).result["cursor"])

    once, again = poll(modern, cursor=cursor).result, poll(modern, cursor=cursor).result

    assert len(once["events"]) == 1
    assert once == again


def test_an_event_is_of_the_time_of_its_change(modern: ModernClient, world: World) -> None:
    cursor = poll(modern).result["cursor"]
    change = ended(world)
    world.clock.advance(hours=1)
    tell(world, change)

    (event,) = poll(modern, cursor=cursor).result["events"]

    assert event["timestamp"] == event["data"]["lastUpdatedAt"]


def test_the_cursor_of_an_event_is_in_deliveries_only(modern: ModernClient, world: World) -> None:
    cursor = poll(modern).result["cursor"]
    subscribe(modern)
    tell(world, ended(world))
    deliver(world)

    (polled,), (delivered,) = poll(modern, FINISHED, cursor).result["events"], fakes_of(world).endpoints.events()

    assert "cursor" not in polled
    assert delivered.body["cursor"]


def test_an_event_has_the_same_id_by_poll_and_by_webhook(modern: ModernClient, world: World) -> None:
    cursor = poll(modern).result["cursor"]
    subscribe(modern)
    subscribe(modern, url="https://other.example/")
    tell(world, ended(world))
    deliver(world)

    (polled,) = poll(modern, FINISHED, cursor).result["events"]

    assert [post.body["eventId"] for post in fakes_of(world).endpoints.events()] == [polled["eventId"]] * 2


# ------------------------------------------------------------------------------------------------------------ webhook


def test_an_id_is_no_input(world: World, modern: ModernClient) -> None:
    its_id = subscribe(modern).result["id"]

    without = modern.ask("events/unsubscribe", {"id": its_id}).error
    beside = modern.ask("events/unsubscribe", wish(url="https://other.example/") | {"id": its_id}).error

    assert (without["code"], beside["code"]) == (-32602, -32011)
    assert [one.id for one in fakes_of(world).subscriptions.all.values()] == [its_id]


def test_the_cursor_of_a_refresh_is_never_ahead_of_the_deliveries(modern: ModernClient, world: World) -> None:
    begun = subscribe(modern).result["cursor"]
    fakes_of(world).endpoints.answers[URL] = lambda _: Answer(503)
    tell(world, ended(world))
    deliver(world)

    waiting = subscribe(modern).result["cursor"]
    del fakes_of(world).endpoints.answers[URL]
    world.clock.advance(minutes=1)
    deliver(world)
    (subscription,) = fakes_of(world).subscriptions.all.values()
    fakes_of(world).delivering.deliver(ALICE, subscription.id, "a message")
    quiet = subscribe(modern).result["cursor"]

    assert waiting == begun
    assert quiet != begun


def test_the_last_error_is_a_category_and_shows_nothing_of_the_answer(modern: ModernClient, world: World) -> None:
    subscribe(modern)
    for url in (URL, "https://other.example/"):
        fakes_of(world).endpoints.answers[url] = lambda _: Answer(500, b'{"challenge": "words of the endpoint"}')
    tell(world, ended(world))
    deliver(world)

    status = subscribe(modern).result["deliveryStatus"]
    refused = subscribe(modern, url="https://other.example/").error

    assert status["lastError"] == refused["data"]["reason"] == "http_5xx"
    assert "words of the endpoint" not in json.dumps([status, refused])


def test_the_signature_is_that_of_the_formula(modern: ModernClient, world: World) -> None:
    subscribe(modern)
    tell(world, ended(world))
    deliver(world)

    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    for post in fakes_of(world).endpoints.posts:
        signed = f"{post.headers['webhook-id']}.{post.headers['webhook-timestamp']}.{post.text}".encode()
        expected = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
        assert post.headers["webhook-signature"] == f"v1,{expected}"


def test_a_challenge_is_used_once(modern: ModernClient, world: World) -> None:
    first: list[Post] = []

    def echo_the_first(post: Post) -> Answer:
        first.append(post)
        return echo(first[0])

    fakes_of(world).endpoints.answers.update({URL: echo_the_first, "https://other.example/": echo_the_first})

    assert "id" in subscribe(modern).result
    assert subscribe(modern, url="https://other.example/").error["data"] == {"reason": "challenge_failed"}
    assert len({post.body["challenge"] for post in first}) == 2
    assert min(len(post.body["challenge"]) for post in first) >= 32


def test_a_gap_has_a_cursor_from_which_everything_follows(modern: ModernClient, world: World) -> None:
    subscribe(modern, name=STATUS_CHANGED)
    for _ in range(2):
        tell(world, ended(world))
    fakes_of(world).event_store.forget(ALICE, 1)
    deliver(world)
    gap = next(post.body for post in fakes_of(world).endpoints.posts if post.body.get("type") == "gap")
    (event,) = fakes_of(world).endpoints.events()

    followed = poll(modern, cursor=gap["cursor"]).result

    assert gap.keys() == {"type", "cursor"}
    assert [one["eventId"] for one in followed["events"]] == [event.body["eventId"]]
