"""What tells callers of events, at each fault: polls, subscriptions, the record, and deliveries with their requests.

A request to an endpoint is a step like a call to AWS, with the faults that an endpoint has.
"""

import dataclasses
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from msgspec.structs import replace

from stepwire.aws.status_changes_function import StatusChangesHandler
from stepwire.aws.storage.items import item_of
from stepwire.aws.storage.table import Table
from stepwire.composition import EXTRAS, switched_on
from stepwire.engine.limiter import WAITS
from stepwire.extras.events import events_of
from stepwire.extras.events.changes import recording_of
from stepwire.extras.events.delivering import Delivering
from stepwire.extras.events.doorbells import Doorbells
from stepwire.extras.events.ports import Answer, NotReached
from stepwire.extras.events.record import Recording
from stepwire.extras.events.store import DynamoDbEventStore, DynamoDbSubscriptionStore
from stepwire.extras.events.subscribing import PROOFS, Events, Subscribing, proof_places
from stepwire.extras.events.webhook_function import WebhooksHandler
from stepwire.principal import Principal
from tests.extras.events.fakes import FakeEndpoints
from tests.faults.boundary import Fault, ProcessDied
from tests.faults.operation import Caller, Operation
from tests.faults.seen import Act, Seen, seen_in, taken
from tests.faults.site import VISIBILITY, Site
from tests.faults.tasks_at_hand import created
from tests.kits import ALICE, BOB
from tests.server.answers import Json
from tests.server.clients import ModernClient

URL: Final = "https://hooks.example/"
OTHER: Final = "https://other.example/"
QUEUE: Final = "https://sqs.eu-central-1.amazonaws.com/123456789012/webhooks"
"""The variable WEBHOOK_QUEUE."""
OPENED: Final = ("GetItem events", "UpdateItem events")
RECORDED: Final = ("GetItem events", "PutItem change", "UpdateItem events")
_ANSWERS: Final = {Fault.THROTTLED: 429, Fault.DENIED: 403, Fault.INTERNAL: 500}
_SECRET: Final = "whsec_" + "c2VjcmV0" * 4
_NEVER: Final = 3_600.0  # seconds: no invocation takes further messages, whose calls would have no order


def _unsigned(_secret: str, _message_id: str, _at: Any, _body: str) -> str:
    return "v1,"


@dataclass
class Deliveries:
    """The functions' objects for events, on the stores of a site, and the receivers."""

    site: Site
    receivers: FakeEndpoints = field(default_factory=FakeEndpoints)
    cursor: str | None = None
    """Where an approver's polls go on."""

    def __post_init__(self) -> None:
        boundary, table = self.site.account.boundary, self.site.table
        record = DynamoDbEventStore(Table(table, lambda: boundary.patient_dynamodb))
        store = DynamoDbSubscriptionStore(Table(table, lambda: boundary.patient_dynamodb))
        bells = Doorbells(QUEUE, lambda: boundary.queue)
        clock, randomness = self.site.clock, self.site.randomness
        recording = Recording(record, store, bells.ring, clock.now)
        self.stream = StatusChangesHandler(lambda: boundary.events, lambda: boundary.patient_dynamodb)
        services = replace(self.stream.services, extras=switched_on(EXTRAS))
        services.ground.built[recording_of] = recording
        vars(self.stream).update(services=services, _bus=None)
        self.webhooks = WebhooksHandler(is_slow_after=_NEVER)
        delivering = Delivering(record, store, self, _unsigned, clock, randomness)
        vars(self.webhooks).update(_delivering=delivering, _bells=bells)
        limiter = self.site.process.engine.limiter_of(PROOFS, proof_places(WAITS))
        subscribing = Subscribing(record, store, self, _unsigned, bells.ring, randomness, lambda _owner: None, limiter)
        self.events = Events(record, subscribing)

    @classmethod
    def on(cls, site: Site) -> "Deliveries":
        """Return those of a site, which are made once."""
        if "events" not in site.fakes:
            site.fakes["events"] = cls(site)
        return site.fakes["events"]

    @property
    def bells(self) -> list[str]:
        """The messages of the queue."""
        return self.site.others.setdefault(QUEUE, [])

    def post(self, url: str, headers: Any, body: bytes) -> Answer:
        """Post to a receiver: a step of its own."""
        kind = "challenge" if b"challenge" in body else "gap" if b'"gap"' in body else "event"
        fault = self.site.account.boundary.step(f"POST {kind}")
        if fault in _ANSWERS:
            return Answer(_ANSWERS[fault])
        if fault in {None, Fault.TIMEOUT_AFTER, Fault.DEATH_AFTER}:
            answer = self.receivers.post(url, headers, body)
            if fault is None:
                return answer
        if fault in {Fault.DEATH_BEFORE, Fault.DEATH_AFTER}:
            raise ProcessDied
        raise NotReached("timeout")

    def client(self, owner: Principal = ALICE) -> ModernClient:
        """Return a caller's client."""
        self.serve()
        return ModernClient(self.site, owner=owner)

    def serve(self) -> None:
        """Let the server of the present process serve MCP Events."""
        self.site.process.server.services.ground.built[events_of] = self.events

    def arrived(self, url: str) -> list[str]:
        """Return the tasks of the events that arrived, without repetitions, in order."""
        return list(dict.fromkeys(post.body["data"]["taskId"] for post in self.receivers.events(url)))


def _wish(url: str = URL) -> Json:
    return {
        "name": "task.status_changed",
        "arguments": {},
        "delivery": {"mode": "webhook", "url": url, "secret": _SECRET},
    }


def _begin(site: Site, *, subscribes: bool = True) -> Deliveries:
    """Arrange two subscribers, of whom one has a task."""
    made = Deliveries.on(site)
    if subscribes:
        made.client().ask("events/subscribe", _wish()).result  # noqa: B018 - it must be one
        made.client(BOB).ask("events/subscribe", _wish(OTHER)).result  # noqa: B018
        made.receivers.posts.clear()
    created(site)
    return made


def _asked(site: Site, method: str, params: Json) -> Act:
    made = Deliveries.on(site)
    return lambda: seen_in(made.client().ask(method, params))


def arrange_subscribe(site: Site) -> Act:
    _begin(site, subscribes=False)
    return _asked(site, "events/subscribe", _wish())


def arrange_refresh(site: Site) -> Act:
    _begin(site)
    return _asked(site, "events/subscribe", _wish())


def arrange_unsubscribe(site: Site) -> Act:
    _begin(site)
    return _asked(site, "events/unsubscribe", _wish())


def arrange_poll(site: Site) -> Act:
    """The first poll opens the record."""
    _begin(site, subscribes=False)
    return _asked(site, "events/poll", {"name": "task.status_changed"})


def arrange_poll_again(site: Site) -> Act:
    made = _begin(site, subscribes=False)
    params = {"name": "task.status_changed"}
    cursor = made.client().ask("events/poll", params).result["cursor"]
    _record(made)
    return _asked(site, "events/poll", params | {"cursor": cursor})


def _record(made: Deliveries, version: int = 1) -> list[Json]:
    task, at = made.site.task(), made.site.clock.now().timestamp()
    images = {"NewImage": item_of(replace(task, version=version)), "ApproximateCreationDateTime": at}
    record = {"eventName": "INSERT", "dynamodb": {"SequenceNumber": "1", **images}}
    return made.stream({"Records": [record]}, None)["batchItemFailures"]


def arrange_record(site: Site) -> Act:
    made = _begin(site)

    def act() -> Seen:
        told: list[Json] = []
        seen = taken(lambda: told.extend(_record(made)))()
        return Seen.ERROR if told else seen

    return act


def arrange_delivery(site: Site) -> Act:
    made = _begin(site)
    _record(made)
    return _handled(made)


def arrange_delivery_after_gap(site: Site) -> Act:
    """The record has lost the change before."""
    made = _begin(site)
    _record(made)
    site.forget("change#")
    _record(made, version=2)
    return _handled(made)


def arrange_failed_delivery(site: Site) -> Act:
    """The receiver answers 503 once."""
    made = _begin(site)
    _record(made)
    answers = [503]
    made.receivers.answers[URL] = lambda _: Answer(answers.pop() if answers else 200)
    return _handled(made)


def arrange_refused_delivery(site: Site) -> Act:
    """The receiver never takes the first event (413), and takes the next."""
    made = _begin(site)
    _record(made)
    _record(made, version=2)
    answers = [413]
    made.receivers.answers[URL] = lambda _: Answer(answers.pop() if answers else 200)
    return _handled(made)


def _handled(made: Deliveries) -> Act:
    """Return an act that gives all messages to the function; before a repetition, their time has come again."""
    site = made.site
    pause = timedelta()

    def act() -> Seen:
        nonlocal pause
        site.clock.time += pause
        pause = VISIBILITY
        while made.bells:
            record = {"messageId": "the message", "receiptHandle": "receipt", "body": made.bells[0]}
            if made.webhooks({"Records": [record]}, None)["batchItemFailures"]:
                return Seen.ERROR
            made.bells.pop(0)
            site.clock.time += site.delay
        return Seen.RESULT

    return act


def events_arrive(site: Site) -> list[str]:
    """Deliver what is left in the queue, and return what is wrong with what arrived."""
    made = Deliveries.on(site)
    fresh = dataclasses.replace(made)  # another process
    for body in list(made.bells):
        record = {"messageId": "another", "receiptHandle": "receipt", "body": body}
        fresh.webhooks({"Records": [record]}, None)
    return [
        *([] if made.arrived(URL) == [site.task().task_id] else ["an event that has not arrived"]),
        *(["an event for another caller"] if made.arrived(OTHER) else []),
        *(["an event that arrived again and again"] if len(made.receivers.events()) > 4 else []),
    ]


_DELIVERED: Final = ("Query change", "UpdateItem events")
_POSTED: Final = ("UpdateItem events", "Query change", "POST event")
OPERATIONS: Final = (
    Operation("events/poll, first", Caller.CLIENT, OPENED, arrange_poll),
    Operation("events/poll", Caller.CLIENT, ("GetItem events", "Query change"), arrange_poll_again),
    Operation(
        "events/subscribe",
        Caller.CLIENT,
        (
            "GetItem events",
            "UpdateItem events",
            "GetItem events",
            *OPENED,
            "GetItem verified",
            *("UpdateItem waits",) * 2,
            "POST challenge",
            *("UpdateItem waits",) * 2,
            "PutItem verified",
            "PutItem events",
        ),
        arrange_subscribe,
    ),
    Operation(
        "events/subscribe, refresh",
        Caller.CLIENT,
        (
            "GetItem events",
            "UpdateItem events",
            "GetItem events",
            "GetItem events",
            "GetItem verified",
            "UpdateItem events",
        ),
        arrange_refresh,
    ),
    Operation("events/unsubscribe", Caller.CLIENT, ("GetItem events", "DeleteItem events"), arrange_unsubscribe),
    Operation(
        "event recorded",
        Caller.STREAM,
        (*RECORDED, "Query events", "UpdateItem events", "SendMessageBatch"),
        arrange_record,
        events_arrive,
    ),
    Operation("event delivered", Caller.QUEUE, (*_POSTED, *_DELIVERED), arrange_delivery, events_arrive),
    Operation(
        "event delivered after a gap",
        Caller.QUEUE,
        ("UpdateItem events", "Query change", "POST gap", "POST event", *_DELIVERED),
        arrange_delivery_after_gap,
        events_arrive,
        first=2,
    ),
    Operation(
        "event delivered at the second attempt",
        Caller.QUEUE,
        (*_POSTED, "UpdateItem events", "SendMessage", *_POSTED, *_DELIVERED),
        arrange_failed_delivery,
        events_arrive,
        first=3,
        last=4,
    ),
    Operation(
        "event delivered after a refused one",
        Caller.QUEUE,
        (*_POSTED, "POST event", *_DELIVERED),
        arrange_refused_delivery,
        events_arrive,
        first=2,
    ),
)
