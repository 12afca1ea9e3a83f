"""MCP Events by webhook: `events/subscribe`, `events/unsubscribe`, and what is delivered."""

import base64
import json
from datetime import datetime, timedelta
from typing import Any, Final

import pytest
from msgspec.structs import force_setattr, replace
from standardwebhooks.webhooks import Webhook

from stepwire.catalog.access import Access
from stepwire.extras.events.delivering import Done, Outcome
from stepwire.extras.events.events import FINISHED, RETENTION, STATUS_CHANGED
from stepwire.extras.events.ports import CARRIED, Answer, NotPublic
from stepwire.extras.events.subscription import (
    LONGEST_SUBSCRIPTION,
    MOST_SUBSCRIPTIONS,
    PATIENCE,
    RESERVATION,
    ROTATION,
    SHORTEST_TTL,
)
from stepwire.principal import Principal
from stepwire.tasks.limiter import Places
from tests.extras.events.built import fakes_of
from tests.extras.events.fakes import Post, echo
from tests.extras.events.oracle import check_occurrence
from tests.extras.events.test_polls import ended, poll, tell
from tests.kits import ALICE, BOB, REQUIRED, World
from tests.server.answers import Answer as McpAnswer
from tests.server.answers import Json
from tests.server.clients import LegacyClient, ModernClient

URL: Final = "https://hooks.example/agent?id=1"
OTHER: Final = "https://other.example/hook"
SECRET: Final = "whsec_" + base64.b64encode(b"s" * 32).decode()
NEXT: Final = "whsec_" + base64.b64encode(b"n" * 24).decode()
Client = ModernClient | LegacyClient


@pytest.fixture(params=["modern", "legacy"])
def client(request: pytest.FixtureRequest, world: World) -> Client:
    return ModernClient(world) if request.param == "modern" else LegacyClient.opened(world)


def wish(name: str = FINISHED, url: Any = URL, secret: Any = SECRET, **more: Any) -> Json:
    return {"name": name, "arguments": {}, "delivery": {"mode": "webhook", "url": url, "secret": secret}, **more}


def subscribe(client: Client, **given: Any) -> McpAnswer:
    return client.ask("events/subscribe", wish(**given))


def deliver(world: World) -> list[Outcome]:
    """Take all messages of the queue."""
    return [fakes_of(world).delivering.deliver(*bell, "a message").outcome for bell in fakes_of(world).queue.take()]


def verified(post: Post, secret: str = SECRET) -> bool:
    """Tell whether a signature is right, whatever the time."""
    given = [one.removeprefix("v1,") for one in post.headers["webhook-signature"].split(" ")]
    at = datetime.fromtimestamp(int(post.headers["webhook-timestamp"]), tz=None).astimezone()
    expected = Webhook(secret).sign(post.headers["webhook-id"], at, post.text)
    return expected.removeprefix("v1,") in given


def test_the_list_offers_webhooks_to_those_who_sign_in(world: World, modern: ModernClient) -> None:
    known = modern.ask("events/list").result["events"]
    world.server = replace(world.server, services=replace(world.services, access=Access(knows_callers=False)))
    unknown = modern.ask("events/list").result["events"]

    assert {tuple(one["delivery"]) for one in known} == {("webhook", "poll")}
    assert {tuple(one["delivery"]) for one in unknown} == {("poll",)}


# E8
@pytest.mark.parametrize("method", ["events/subscribe", "events/unsubscribe"])
def test_without_sign_in_there_are_no_webhooks(world: World, modern: ModernClient, method: str) -> None:
    world.server = replace(world.server, services=replace(world.services, access=Access(knows_callers=False)))

    assert modern.ask(method, wish()).error["code"] == -32012
    assert fakes_of(world).endpoints.posts == []


# E12, E13
def test_an_endpoint_proves_itself_before_it_gets_an_event(client: Client, world: World) -> None:
    result = subscribe(client).result
    tell(world, ended(world))
    deliver(world)

    challenge, event = fakes_of(world).endpoints.posts
    assert challenge.body.keys() == {"type", "challenge"}
    assert challenge.headers["webhook-id"].startswith("msg_verification_")
    check_occurrence(event.body, has_cursor=True)
    assert event.headers["webhook-id"] == event.body["eventId"]
    assert {post.headers["x-mcp-subscription-id"] for post in fakes_of(world).endpoints.posts} == {result["id"]}
    assert {post.headers["content-type"] for post in fakes_of(world).endpoints.posts} == {"application/json"}
    assert verified(challenge)
    assert verified(event)
    assert "xyzzy" not in event.text


# E12
def test_a_proof_holds_for_one_caller_and_one_url(world: World) -> None:
    alice, bob = ModernClient(world), ModernClient(world, owner=BOB)
    for client, name, url in ((alice, FINISHED, URL), (alice, STATUS_CHANGED, URL), (alice, FINISHED, URL)):
        subscribe(client, name=name, url=url)
    assert len(fakes_of(world).endpoints.posts) == 1

    subscribe(bob)
    subscribe(alice, url=OTHER)

    assert fakes_of(world).verifications == [ALICE, BOB, ALICE]


REFUSALS: Final = {
    "another challenge": (Answer(200, b'{"challenge": "other"}'), "challenge_failed"),
    "no challenge": (Answer(200, b"{}"), "challenge_failed"),
    "no JSON": (Answer(200, b"<html>"), "challenge_failed"),
    "no object": (Answer(200, b'["challenge"]'), "challenge_failed"),
    "a number": (Answer(200, b'{"challenge": 7}'), "challenge_failed"),
    "no body": (Answer(204), "challenge_failed"),
    "a redirect": (Answer(302), "http_4xx"),
    "not found": (Answer(404), "http_4xx"),
    "a fault": (Answer(503), "http_5xx"),
}


# E18
@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
def test_an_endpoint_that_does_not_prove_itself_gets_nothing(
    modern: ModernClient, world: World, refusal: tuple[Answer, str]
) -> None:
    answer, reason = refusal
    fakes_of(world).endpoints.answers[URL] = lambda _: answer

    error = subscribe(modern).error
    tell(world, ended(world))

    assert (error["code"], error["data"]) == (-32015, {"reason": reason})
    assert fakes_of(world).queue.rung == []
    assert fakes_of(world).endpoints.events() == []


def test_a_receiver_that_sends_back_whatever_it_gets_proves_nothing(modern: ModernClient, world: World) -> None:
    """A public echo service would be such a receiver."""
    fakes_of(world).endpoints.answers[URL] = lambda post: Answer(200, post.text.encode())

    assert subscribe(modern).error["data"] == {"reason": "challenge_failed"}


def test_one_caller_waits_for_few_endpoints_at_a_time(modern: ModernClient, world: World) -> None:
    """Each endpoint answers only after 119 other requests of its caller, and one of another, have been served."""
    waiting, refused, others = list[str](), list[Json](), list[Json]()

    def answer_late(post: Post) -> Answer:
        waiting.append(post.url)
        if len(waiting) == 1:
            refused.extend(subscribe(modern, url=f"https://hooks.example/{number}").error for number in range(119))
            others.append(subscribe(ModernClient(world, owner=BOB), url=OTHER).result)
        return echo(post)

    for number in range(-1, 119):
        fakes_of(world).endpoints.answers[f"https://hooks.example/{number}"] = answer_late
    subscribe(modern, url="https://hooks.example/-1")
    later = subscribe(modern, url="https://hooks.example/0")

    assert waiting == ["https://hooks.example/-1", "https://hooks.example/0"], "the others did not wait"
    in_time = [one for one in refused if one["data"]["limit"] == "endpoints being verified"]
    assert len(in_time) == MOST_SUBSCRIPTIONS - 1, "the rest is beyond the limit of subscriptions"
    assert (in_time[0]["code"], in_time[0]["data"]["retryAfterMs"]) == (-31002, 1_000)
    assert (len(others), "id" in later.result) == (1, True)


def test_an_endpoint_that_is_verified_needs_no_slot(modern: ModernClient, world: World) -> None:
    subscribe(modern)
    force_setattr(
        fakes_of(world).subscribing, "limiter", replace(fakes_of(world).subscribing.limiter, places=Places(0))
    )

    assert "id" in subscribe(modern, name=STATUS_CHANGED).result
    assert subscribe(modern, url=OTHER).error["data"]["limit"] == "endpoints being verified"


@pytest.mark.parametrize("reason", ["connection_refused", "timeout", "tls_error"])
def test_an_endpoint_that_is_not_reached_is_named_by_a_category(
    modern: ModernClient, world: World, reason: str
) -> None:
    fakes_of(world).endpoints.down[URL] = reason

    assert subscribe(modern).error["data"] == {"reason": reason}


# E16
def test_an_address_that_is_not_public_is_bad_input(modern: ModernClient, world: World) -> None:
    def refuse(_: Post) -> Answer:
        raise NotPublic

    fakes_of(world).endpoints.answers[URL] = refuse

    assert subscribe(modern).error["code"] == -32602


BAD_URLS: Final = {
    "plain HTTP": "http://hooks.example/",
    "another port": "https://hooks.example:8443/",
    "port 0": "https://hooks.example:0/",
    "no port number": "https://hooks.example:https/",
    "a user": "https://user@hooks.example/",
    "a password": "https://user:secret@hooks.example/",
    "a fragment": "https://hooks.example/#part",
    "no host": "https:///hook",
    "no scheme": "hooks.example/hook",
    "another scheme": "ftp://hooks.example/",
    "a file": "file:///etc/passwd",
    "a space": "https://hooks.example/a b",
    "a new line": "https://hooks.example/\r\nx: y",
    "a backslash": "https://hooks.example\\@evil.example/",
    "other letters": "https://höoks.example/",
    "too long": "https://hooks.example/" + "a" * 2_048,
    "empty": "",
    "a number": 7,
    "nothing": None,
    "a broken address": "https://[::1/",
    "this machine, as the local stack allows": "http://127.0.0.1:8000/hook",
}
BAD_SECRETS: Final = {
    "too short": "whsec_" + base64.b64encode(b"s" * 23).decode(),
    "too long": "whsec_" + base64.b64encode(b"s" * 65).decode(),
    "without its prefix": base64.b64encode(b"s" * 32).decode(),
    "no base64": "whsec_" + "*" * 44,
    "with padding amiss": SECRET.rstrip("="),
    "a number": 7,
    "nothing": None,
}
BAD: Final[dict[str, tuple[Json, int]]] = {
    **{f"url: {why}": (wish(url=url), -32602) for why, url in BAD_URLS.items()},
    **{f"secret: {why}": (wish(secret=secret), -32602) for why, secret in BAD_SECRETS.items()},
    "no delivery": ({"name": FINISHED}, -32602),
    "a delivery that is no object": (wish() | {"delivery": URL}, -32602),
    "another mode": (wish() | {"delivery": {"mode": "push", "url": URL, "secret": SECRET}}, -32014),
    "no mode": (wish() | {"delivery": {"url": URL, "secret": SECRET}}, -32014),
    "an unknown type": (wish(name="task.exploded"), -32011),
    "an unknown filter": (wish() | {"arguments": {"status": "failed"}}, -32602),
    "an unknown tool": (wish() | {"arguments": {"tool": "nonesuch"}}, -32602),
    "an unknown task": (wish() | {"arguments": {"taskId": "01kyyk41g000000000000000000000000009"}}, -32602),
    "a cursor from elsewhere": (wish(cursor="historyId_99842"), -32602),
    "a ttl that is no number": (wish(ttlMs="1h"), -32602),
    "a negative ttl": (wish(ttlMs=-1), -32602),
    "a negative age": (wish(maxAgeMs=-1), -32602),
}


# E9
@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_bad_input_gets_an_error_and_calls_nobody(client: Client, world: World, bad: tuple[Json, int]) -> None:
    params, code = bad

    error = client.ask("events/subscribe", params).error

    assert error["code"] == code
    assert fakes_of(world).endpoints.posts == []
    assert fakes_of(world).subscriptions.all == {}
    assert SECRET.removeprefix("whsec_") not in json.dumps(error)


# E20
def test_a_caller_may_have_so_many_subscriptions_and_no_more(world: World, modern: ModernClient) -> None:
    for number in range(MOST_SUBSCRIPTIONS):
        assert "id" in subscribe(modern, url=f"https://hooks.example/{number}").result

    error = subscribe(modern).error

    assert (error["code"], error["data"]) == (-32013, {"limit": "subscriptions", "max": MOST_SUBSCRIPTIONS})
    assert "id" in subscribe(modern, url="https://hooks.example/0").result, "a refresh needs no room"
    assert "id" in subscribe(ModernClient(world, owner=BOB)).result


# E20
def test_of_simultaneous_calls_only_as_many_succeed_as_there_is_room(world: World, modern: ModernClient) -> None:
    for number in range(MOST_SUBSCRIPTIONS - 1):
        subscribe(modern, url=f"https://hooks.example/{number}")
    world.clock.time += RESERVATION
    meanwhile: list[Json] = []

    def subscribe_meanwhile(post: Post) -> Answer:
        meanwhile.append(subscribe(ModernClient(world), url=OTHER).error)
        return echo(post)

    fakes_of(world).endpoints.answers[URL] = subscribe_meanwhile

    assert "id" in subscribe(modern).result
    assert meanwhile[0]["code"] == -32013
    assert len(fakes_of(world).subscriptions.all) == MOST_SUBSCRIPTIONS


def test_an_ended_subscription_makes_room(world: World, modern: ModernClient) -> None:
    for number in range(MOST_SUBSCRIPTIONS):
        subscribe(modern, url=f"https://hooks.example/{number}")
    world.clock.time += RESERVATION
    modern.ask("events/unsubscribe", wish(url="https://hooks.example/7"))

    assert "id" in subscribe(modern).result


# E10
def test_the_id_depends_on_who_what_and_where_and_nothing_else(world: World) -> None:
    alice = ModernClient(world)
    same = {
        subscribe(alice).result["id"],
        subscribe(alice, secret=NEXT, ttlMs=600_000).result["id"],
        alice.ask("events/subscribe", {key: value for key, value in wish().items() if key != "arguments"}).result["id"],
    }
    others = {
        subscribe(ModernClient(world, owner=BOB)).result["id"],
        subscribe(alice, url=OTHER).result["id"],
        subscribe(alice, name=STATUS_CHANGED).result["id"],
        alice.ask("events/subscribe", wish() | {"arguments": {"tool": "optional"}}).result["id"],
    }

    assert (len(same), len(others), same & others) == (1, 4, set())


# E11
@pytest.mark.parametrize(
    ("given", "granted"),
    [
        ({}, timedelta(days=1)),
        ({"ttlMs": 3_600_000}, timedelta(hours=1)),
        ({"ttlMs": 1}, SHORTEST_TTL),
        ({"ttlMs": None}, LONGEST_SUBSCRIPTION),
        ({"ttlMs": 10**15}, LONGEST_SUBSCRIPTION),
    ],
)
def test_a_subscription_lives_as_long_as_asked_within_bounds(
    world: World, modern: ModernClient, given: Json, granted: timedelta
) -> None:
    until = datetime.fromisoformat(subscribe(modern, **given).result["refreshBefore"])

    assert until - world.clock.now() == granted
    world.clock.time = until
    tell(world, ended(world))
    assert deliver(world) == []


def test_a_subscription_ends_when_its_caller_says_so(client: Client, world: World) -> None:
    subscribe(client)
    delivery = {"delivery": {"url": URL}, "name": FINISHED, "arguments": {}}

    assert "error" not in client.ask("events/unsubscribe", delivery).body
    tell(world, ended(world))
    again = client.ask("events/unsubscribe", delivery).error

    assert fakes_of(world).queue.rung == []
    assert (again["code"], again["data"]) == (-32011, {"kind": "subscription"})


def test_nobody_ends_the_subscription_of_another(world: World) -> None:
    subscribe(ModernClient(world))

    assert ModernClient(world, owner=BOB).ask("events/unsubscribe", wish()).error["code"] == -32011
    assert len(fakes_of(world).subscriptions.all) == 1


def test_only_what_is_wanted_is_delivered_to_whom_it_concerns(world: World) -> None:
    subscribe(ModernClient(world))
    ModernClient(world).ask("events/subscribe", wish(url=OTHER) | {"arguments": {"tool": "required"}})
    subscribe(ModernClient(world, owner=BOB), url="https://bob.example/")
    mine, other = world.call(), world.call(REQUIRED)
    tell(world, ended(world, mine))
    tell(world, ended(world, other))
    theirs = world.call(owner=BOB)
    tell(world, ended(world, theirs))
    deliver(world)

    got = {
        url: [post.body["data"]["taskId"] for post in fakes_of(world).endpoints.events(url)]
        for url in world_urls(world)
    }
    assert got == {
        URL: [mine.task_id, other.task_id],
        OTHER: [other.task_id],
        "https://bob.example/": [theirs.task_id],
    }


def world_urls(world: World) -> list[str]:
    return [one.url for one in fakes_of(world).subscriptions.all.values()]


# E14
def test_a_new_secret_signs_beside_the_old_one_for_a_while(modern: ModernClient, world: World) -> None:
    subscribe(modern)
    subscribe(modern, secret=NEXT)
    tell(world, ended(world))
    deliver(world)
    world.clock.time += ROTATION
    tell(world, ended(world))
    deliver(world)

    during, after = fakes_of(world).endpoints.events()
    assert (verified(during, SECRET), verified(during, NEXT)) == (True, True)
    assert (verified(after, SECRET), verified(after, NEXT)) == (False, True)


def test_a_failed_delivery_is_tried_again_later_signed_anew(modern: ModernClient, world: World) -> None:
    subscribe(modern)
    fakes_of(world).endpoints.answers[URL] = lambda _: Answer(503)
    tell(world, ended(world))
    (bell,) = fakes_of(world).queue.take()
    first = fakes_of(world).delivering.deliver(*bell, "m1")
    assert first.again_after is not None
    early = fakes_of(world).delivering.deliver(*bell, "m1")
    other = fakes_of(world).delivering.deliver(*bell, "m2")
    fakes_of(world).endpoints.answers[URL] = echo
    world.clock.time += first.again_after
    last = fakes_of(world).delivering.deliver(*bell, "m1")

    failed, delivered = fakes_of(world).endpoints.events()
    assert (early.again_after, other.again_after) == (first.again_after, None), "one message carries the next attempt"
    assert (first.outcome, last.outcome) == (Outcome.FAILED, Outcome.DELIVERED)
    assert failed.headers["webhook-id"] == delivered.headers["webhook-id"]
    assert failed.headers["webhook-timestamp"] != delivered.headers["webhook-timestamp"]
    assert verified(delivered)


def test_events_arrive_in_order_also_after_a_failure(modern: ModernClient, world: World) -> None:
    subscribe(modern)
    tasks = [world.call() for _ in range(3)]
    fakes_of(world).endpoints.down[URL] = "timeout"
    for task in tasks:
        tell(world, ended(world, task))
        deliver(world)
    fakes_of(world).endpoints.down.clear()
    world.clock.advance(minutes=1)
    subscription = next(iter(fakes_of(world).subscriptions.all.values()))
    fakes_of(world).delivering.deliver(ALICE, subscription.id, "a message")

    assert [post.body["data"]["taskId"] for post in fakes_of(world).endpoints.events()] == [
        task.task_id for task in tasks
    ]


def test_retries_end_after_a_day_and_a_refresh_begins_anew(modern: ModernClient, world: World) -> None:
    subscribe(modern, ttlMs=LONGEST_SUBSCRIPTION // timedelta(milliseconds=1))
    fakes_of(world).endpoints.down[URL] = "connection_refused"
    tell(world, ended(world))
    (bell,) = fakes_of(world).queue.take()
    begun, attempts = world.clock.now(), 0
    while (done := fakes_of(world).delivering.deliver(*bell, "m1")).again_after is not None:
        world.clock.time += done.again_after
        attempts += 1

    assert done.outcome is Outcome.SUSPENDED
    assert timedelta(hours=18) < world.clock.now() - begun <= PATIENCE
    assert 8 < attempts < 20
    tell(world, ended(world))
    assert deliver(world) == [], "nothing is tried, so nothing is sent"

    fakes_of(world).endpoints.down.clear()
    status = subscribe(modern).result["deliveryStatus"]
    deliver(world)

    assert (status["active"], status["lastError"]) == (False, "connection_refused")
    assert len(fakes_of(world).endpoints.events()) == 2
    assert subscribe(modern).result["deliveryStatus"]["active"]


@pytest.mark.parametrize("age", [timedelta(), PATIENCE])
def test_a_refresh_during_an_attempt_is_not_undone_by_its_failure(
    modern: ModernClient, world: World, age: timedelta
) -> None:
    subscribe(modern, ttlMs=LONGEST_SUBSCRIPTION // timedelta(milliseconds=1))
    tell(world, ended(world))
    ((owner, one),) = fakes_of(world).queue.take()
    fakes_of(world).endpoints.down[URL] = "timeout"
    fakes_of(world).delivering.deliver(owner, one, "m1")
    world.clock.time += max(age, timedelta(seconds=10))

    def refresh_meanwhile(_: Post) -> Answer:
        fakes_of(world).endpoints.answers.clear()
        subscribe(modern, secret=NEXT)
        deliver(world)
        return Answer(503)

    fakes_of(world).endpoints.down.clear()
    fakes_of(world).endpoints.answers[URL] = refresh_meanwhile

    done = fakes_of(world).delivering.deliver(owner, one, "m1")

    assert done == Done(Outcome.FAILED, again_after=timedelta())
    assert subscribe(modern, secret=NEXT).result["deliveryStatus"]["active"]
    assert fakes_of(world).delivering.deliver(owner, one, "m1").outcome is Outcome.DELIVERED


# E15
@pytest.mark.parametrize("status", [410, 413])
def test_an_event_that_its_receiver_will_never_take_is_not_sent_again(
    modern: ModernClient, world: World, status: int
) -> None:
    subscribe(modern)
    answers = iter([Answer(status), Answer(200)])
    fakes_of(world).endpoints.answers[URL] = lambda _: next(answers)
    tell(world, ended(world))
    tell(world, ended(world))

    deliver(world)

    first, second = fakes_of(world).endpoints.events()
    assert first.headers["webhook-id"] != second.headers["webhook-id"]
    assert len(second.text.encode()) < 1_500
    assert "id" in subscribe(modern).result, "the subscription goes on"


def test_an_event_that_is_refused_again_and_again_does_not_hold_up_the_next(modern: ModernClient, world: World) -> None:
    subscribe(modern)
    refused, taken = world.call(), world.call()
    fakes_of(world).endpoints.answers[URL] = lambda post: Answer(400 if refused.task_id in post.text else 200)
    tell(world, ended(world, refused))
    tell(world, ended(world, taken))
    (bell,) = fakes_of(world).queue.take()
    begun = world.clock.now()
    while (done := fakes_of(world).delivering.deliver(*bell, "m1")).again_after is not None:
        world.clock.time += done.again_after

    assert (done.delivered, done.skipped) == (1, 1)
    assert world.clock.now() - begun < timedelta(hours=1)
    assert fakes_of(world).endpoints.events()[-1].body["data"]["taskId"] == taken.task_id


def test_an_event_is_refused_six_times_before_it_is_skipped_however_long_its_receiver_was_down(
    modern: ModernClient, world: World
) -> None:
    subscribe(modern)
    answers = iter([*([Answer(503)] * 6), *([Answer(404)] * 5), Answer(200)])
    fakes_of(world).endpoints.answers[URL] = lambda _: next(answers)
    tell(world, ended(world))
    (bell,) = fakes_of(world).queue.take()

    while (done := fakes_of(world).delivering.deliver(*bell, "m1")).again_after is not None:
        world.clock.time += done.again_after

    assert (done.delivered, done.skipped) == (1, 0)


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 302, 404])
def test_every_other_answer_is_tried_again(modern: ModernClient, world: World, status: int) -> None:
    subscribe(modern)
    fakes_of(world).endpoints.answers[URL] = lambda _: Answer(status)
    tell(world, ended(world))
    (bell,) = fakes_of(world).queue.take()

    assert fakes_of(world).delivering.deliver(*bell, "m1").again_after is not None


@pytest.mark.parametrize(("asked", "seconds"), [(1, 10), (3_600, 3_600), (10**6, 4 * 3_600)])
def test_a_receiver_is_left_alone_as_long_as_it_asks_within_bounds(
    modern: ModernClient, world: World, asked: int, seconds: int
) -> None:
    subscribe(modern)
    fakes_of(world).endpoints.answers[URL] = lambda _: Answer(429, again_after=timedelta(seconds=asked))
    tell(world, ended(world))
    (bell,) = fakes_of(world).queue.take()

    assert fakes_of(world).delivering.deliver(*bell, "m1").again_after == timedelta(seconds=seconds)


def test_two_invocations_do_not_deliver_to_one_receiver_at_the_same_time(modern: ModernClient, world: World) -> None:
    subscribe(modern)
    tell(world, ended(world))
    (bell,) = fakes_of(world).queue.take()
    inner: list[Any] = []

    def deliver_meanwhile(_: Post) -> Answer:
        if not inner:
            inner.append(fakes_of(world).delivering.deliver(*bell, "m2"))
        return Answer(200)

    fakes_of(world).endpoints.answers[URL] = deliver_meanwhile
    fakes_of(world).delivering.deliver(*bell, "m1")

    assert len(fakes_of(world).endpoints.events()) == 1
    assert inner == [Done(Outcome.NOTHING)], "whoever delivers looks again before it ends"
    assert inner[0].again_after is None


def test_many_changes_are_one_message_until_it_is_taken(modern: ModernClient, world: World) -> None:
    subscribe(modern)

    for _ in range(20):
        tell(world, ended(world))
    bells = fakes_of(world).queue.take()
    for bell in bells:
        fakes_of(world).delivering.deliver(*bell, "m1")

    assert len(bells) == 1
    assert len(fakes_of(world).endpoints.events()) == 20


def test_what_happens_during_a_delivery_is_delivered_by_it(modern: ModernClient, world: World) -> None:
    subscribe(modern)
    tell(world, ended(world))
    later = [ended(world) for _ in range(3)]

    def change_meanwhile(_: Post) -> Answer:
        if later:
            tell(world, later.pop())
        return Answer(200)

    fakes_of(world).endpoints.answers[URL] = change_meanwhile
    outcomes = deliver(world)

    assert outcomes == [Outcome.DELIVERED]
    assert len(fakes_of(world).endpoints.events()) == 4
    assert fakes_of(world).queue.take() == []


def test_a_change_while_a_delivery_ends_is_not_missed(modern: ModernClient, world: World) -> None:
    """The change comes after the last read of the record, and before the subscription is given back."""
    subscribe(modern)
    tell(world, ended(world))
    late, read = [ended(world)], fakes_of(world).event_store.read

    class LateRecord:
        def read(self, owner: Principal, after: int, most: int) -> Any:
            found = read(owner, after, most)
            if not found and late:
                tell(world, late.pop())
            return found

    fakes_of(world).delivering = replace(fakes_of(world).delivering, record=LateRecord())  # pyright: ignore[reportArgumentType] - it reads
    outcomes = deliver(world)

    assert outcomes == [Outcome.DELIVERED]
    assert len(fakes_of(world).endpoints.events()) == 2


def test_a_message_that_is_lost_is_replaced_after_a_while(modern: ModernClient, world: World) -> None:
    subscribe(modern)
    tell(world, ended(world))
    fakes_of(world).queue.take()
    world.clock.time += CARRIED

    tell(world, ended(world))
    deliver(world)

    assert len(fakes_of(world).endpoints.events()) == 2


@pytest.mark.parametrize(
    ("status", "seconds", "rests"), [(200, 3, 0), (200, 4, 36), (413, 9, 81), (200, 9, 81)], ids=str
)
def test_a_receiver_that_answers_slowly_gets_a_rest(
    modern: ModernClient, world: World, status: int, seconds: int, rests: int
) -> None:
    def answer_slowly(_: Post) -> Answer:
        world.clock.advance(seconds=seconds)
        return Answer(status)

    subscribe(modern)
    fakes_of(world).endpoints.answers[URL] = answer_slowly
    for _ in range(2):
        tell(world, ended(world))
    (bell,) = fakes_of(world).queue.take()

    first = fakes_of(world).delivering.deliver(*bell, "m1")
    shown = subscribe(modern).result["deliveryStatus"] if rests else {"active": True}

    assert first.again_after == (timedelta(seconds=rests) if rests else None)
    assert len(fakes_of(world).endpoints.events()) == (1 if rests else 2)
    assert shown["active"], "it is no failure"


def test_after_its_rest_a_slow_receiver_gets_the_next_event_by_the_same_message(
    modern: ModernClient, world: World
) -> None:
    def answer_slowly(_: Post) -> Answer:
        world.clock.advance(seconds=5)
        return Answer(200)

    subscribe(modern)
    fakes_of(world).endpoints.answers[URL] = answer_slowly
    tell(world, ended(world))
    (bell,) = fakes_of(world).queue.take()
    done = fakes_of(world).delivering.deliver(*bell, "m1")
    tell(world, ended(world))
    another = fakes_of(world).delivering.deliver(*bell, "m2")

    assert (fakes_of(world).queue.take(), another) == ([], Done(Outcome.NOTHING)), "its message is on its way"
    assert done.again_after is not None
    world.clock.time += done.again_after
    assert fakes_of(world).delivering.deliver(*bell, "m1").delivered == 1
    world.clock.advance(minutes=5)
    assert fakes_of(world).delivering.deliver(*bell, "m1") == Done(Outcome.NOTHING)
    assert len(fakes_of(world).endpoints.events()) == 2


# E17
def test_a_cursor_of_a_delivery_brings_back_what_came_after_it(modern: ModernClient, world: World) -> None:
    first = subscribe(modern).result
    tell(world, ended(world))
    deliver(world)
    tell(world, ended(world))
    deliver(world)
    one, two = fakes_of(world).endpoints.events()
    modern.ask("events/unsubscribe", wish())

    subscribe(modern, cursor=two.body["cursor"])
    deliver(world)

    assert not first["truncated"]
    assert [post.body["eventId"] for post in fakes_of(world).endpoints.events()] == [
        *(one.body["eventId"], two.body["eventId"]),
        two.body["eventId"],
    ], "a cursor is never ahead of what was acknowledged"


# E19
def test_a_receiver_is_told_of_events_that_were_lost(modern: ModernClient, world: World) -> None:
    subscribe(modern)
    tell(world, ended(world))
    tell(world, ended(world))
    fakes_of(world).event_store.forget(ALICE, 1)

    deliver(world)

    *_, gap, event = fakes_of(world).endpoints.posts
    assert gap.body["type"] == "gap"
    assert gap.headers["webhook-id"].startswith("msg_gap_")
    assert verified(gap)
    assert "eventId" in event.body


def test_a_cursor_that_is_too_old_begins_now(modern: ModernClient, world: World) -> None:
    cursor = subscribe(modern).result["cursor"]
    world.clock.time += 3 * RETENTION

    assert subscribe(modern, cursor=cursor).result["truncated"]


# E6
def test_a_subscription_leaves_out_what_is_old(modern: ModernClient, world: World) -> None:
    cursor = poll(modern).result["cursor"]
    tell(world, ended(world))
    world.clock.advance(minutes=10)
    tell(world, ended(world))

    begun = subscribe(modern, cursor=cursor, maxAgeMs=60_000).result
    deliver(world)

    polled = poll(modern, FINISHED, cursor=cursor, maxAgeMs=60_000).result
    assert begun["truncated"] is polled["truncated"] is True
    assert [post.body["eventId"] for post in fakes_of(world).endpoints.events()] == [
        one["eventId"] for one in polled["events"]
    ]
    assert len(polled["events"]) == 1


def test_a_subscription_shows_no_secret(modern: ModernClient, world: World) -> None:
    subscribe(modern)
    subscribe(modern, secret=NEXT)

    assert "whsec_" not in repr(fakes_of(world).subscriptions.all)
