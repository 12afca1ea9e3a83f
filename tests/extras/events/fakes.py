"""The ports of MCP Events in memory; the contract tests of `tests/contracts` hold for them as for the adapters."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from stepwire.changes import CallerEvent
from stepwire.extras.events.events import SLACK, Head, Recorded
from stepwire.extras.events.ports import CARRIED, Answer, Listener, NotReached
from stepwire.extras.events.subscription import RESERVATION, Subscription
from stepwire.json_text import Json
from stepwire.principal import Principal


@dataclass
class _Record:
    since: datetime
    until: datetime
    number: int
    events: list[Recorded] = field(default_factory=list[Recorded])

    def head(self) -> Head:
        return Head(self.number, self.since)


class InMemoryEventStore:
    """Events in lists."""

    def __init__(self) -> None:
        self._records: dict[Principal, _Record] = {}

    def open_record(self, owner: Principal, at: datetime, until: datetime) -> Head:
        record = self._records.get(owner)
        if record is None or record.until <= at:
            record = self._records[owner] = _Record(at, until + SLACK, int(at.timestamp() * 1000))
        if record.until < until:
            record.until = until + SLACK
        return record.head()

    def head(self, owner: Principal, at: datetime) -> Head | None:
        record = self._records.get(owner)
        return None if record is None or record.until <= at else record.head()

    def append(self, owner: Principal, head: Head, events: Sequence[CallerEvent]) -> None:
        record = self._records[owner]
        for event in events:
            if all(one.event != event for one in record.events):
                record.number += 1
                record.events.append(Recorded(record.number, event))

    def read(self, owner: Principal, after: int, most: int) -> Sequence[Recorded]:
        record = self._records.get(owner)
        return [one for one in record.events if one.number > after][:most] if record else []

    def forget(self, owner: Principal, count: int) -> None:
        """Lose the oldest events, as when their time is over."""
        del self._records[owner].events[:count]


_NEVER: Final = datetime.min.replace(tzinfo=UTC)


@dataclass
class _Message:
    """The message of a subscription."""

    until: datetime
    has_news: bool = False
    asked_for: str | None = None


class InMemorySubscriptionStore:
    """Subscriptions in a dictionary."""

    def __init__(self) -> None:
        self.all: dict[tuple[Principal, str], Subscription] = {}
        self._busy_until: dict[tuple[Principal, str], datetime] = {}
        self._busy_by: dict[tuple[Principal, str], str] = {}
        self._verified: dict[tuple[Principal, str], datetime] = {}
        self._places: dict[Principal, dict[str, datetime]] = {}
        self._messages: dict[tuple[Principal, str], _Message] = {}

    def load(self, owner: Principal, subscription_id: str) -> Subscription | None:
        return self.all.get((owner, subscription_id))

    def live(self, owner: Principal, at: datetime) -> Mapping[str, Listener]:
        found: dict[str, Listener] = {}
        for key, one in self.all.items():
            if key[0] == owner and one.expires_at > at:
                message = self._message(key, at)
                found[key[1]] = (
                    Listener(one.wanted, message.has_news, message.asked_for) if message else Listener(one.wanted)
                )
        return found

    def _message(self, key: tuple[Principal, str], at: datetime) -> _Message | None:
        found = self._messages.get(key)
        return found if found is not None and found.until > at else None

    def ask(self, owner: Principal, changes: Mapping[str, str], at: datetime) -> list[str]:
        needed = list[str]()
        for one, change in changes.items():
            subscription, message = self.all.get((owner, one)), self._message((owner, one), at)
            if subscription is None or subscription.expires_at <= at:
                continue
            if message is None or message.asked_for == change:
                self._messages[owner, one] = _Message(at + CARRIED, has_news=True, asked_for=change)
                needed.append(one)
            else:
                message.has_news = True
        return needed

    def reserve(self, owner: Principal, subscription_id: str, at: datetime, most: int) -> bool:
        live = self.live(owner, at)
        places = {one: until for one, until in self._places.get(owner, {}).items() if until > at or one in live}
        if subscription_id not in places and len(places) >= most:
            return False
        self._places[owner] = places | {subscription_id: at + RESERVATION}
        return True

    def begin(self, subscription: Subscription) -> None:
        key = (subscription.owner, subscription.id)
        self.all[key] = subscription
        self._busy_until.pop(key, None)
        self._messages.pop(key, None)

    def refresh(self, subscription: Subscription) -> None:
        key = (subscription.owner, subscription.id)
        self.all[key] = replace(subscription, position=self.all.get(key, subscription).position)
        if key in self._messages:
            self._messages[key] = _Message(_NEVER, self._messages[key].has_news)
        self._busy_by.pop(key, None)

    def delete(self, owner: Principal, subscription_id: str) -> bool:
        return self.all.pop((owner, subscription_id), None) is not None

    def claim(
        self, owner: Principal, subscription_id: str, carrier: str, at: datetime, until: datetime
    ) -> Subscription | None:
        key = (owner, subscription_id)
        found = self.all.get(key)
        if found is None or found.expires_at <= at:
            return None
        is_its_own = (self._busy_until.get(key), self._busy_by.get(key)) == (until, carrier)
        if self._busy_until.get(key, at) > at and not is_its_own:
            return None
        self._busy_until[key], self._busy_by[key] = until, carrier
        self._messages[key] = _Message(until + CARRIED)
        return found

    def finish(self, subscription: Subscription, until: datetime) -> bool:
        key = (subscription.owner, subscription.id)
        message = self._messages.get(key)
        if message is not None and message.has_news and self._busy_until.get(key) == until:
            message.has_news, message.asked_for = False, None
            return False
        if self._save(subscription, until):
            self._messages.pop(key, None)
        return True

    def pause(self, subscription: Subscription, until: datetime, resumes_at: datetime) -> bool:
        key = (subscription.owner, subscription.id)
        is_refreshed = self._busy_until.get(key) == until and key not in self._busy_by and key in self.all
        if is_refreshed:
            subscription = replace(subscription, standing=self.all[key].standing)
        if self._save(subscription, until) and key in self._messages and not is_refreshed:
            self._messages[key].until = resumes_at + CARRIED
        return not is_refreshed

    def _save(self, subscription: Subscription, until: datetime) -> bool:
        key = (subscription.owner, subscription.id)
        if self._busy_until.get(key) != until or key not in self.all:
            return False
        del self._busy_until[key]
        self.all[key] = replace(self.all[key], position=subscription.position, standing=subscription.standing)
        return True

    def is_verified(self, owner: Principal, url: str, at: datetime) -> bool:
        return (owner, url) in self._verified and self._verified[owner, url] > at

    def set_verified(self, owner: Principal, url: str, until: datetime) -> None:
        self._verified[owner, url] = until


@dataclass(frozen=True)
class Post:
    """One POST to an endpoint."""

    url: str
    headers: Mapping[str, str]
    text: str

    @property
    def body(self) -> Json:
        return json.loads(self.text)


def echo(post: Post) -> Answer:
    """Answer as a receiver does that wants everything."""
    return Answer(200, json.dumps({"challenge": post.body.get("challenge")}).encode())


class FakeEndpoints:
    """Receivers by URL; one that is not named echoes challenges and takes all events."""

    def __init__(self) -> None:
        self.posts: list[Post] = []
        """All that arrived, in order."""
        self.answers: dict[str, Callable[[Post], Answer]] = {}
        self.down: dict[str, str] = {}
        """Why a receiver is not reached."""

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        if url in self.down:
            raise NotReached(self.down[url])
        post = Post(url, dict(headers), body.decode())
        self.posts.append(post)
        return self.answers.get(url, echo)(post)

    def events(self, url: str | None = None) -> list[Post]:
        """Return the events that arrived."""
        return [post for post in self.posts if "eventId" in post.body and url in (None, post.url)]


@dataclass
class FakeQueue:
    """The doorbells that were rung."""

    rung: list[tuple[Principal, str]] = field(default_factory=list[tuple[Principal, str]])

    def ring(self, owner: Principal, subscription_ids: Iterable[str]) -> None:
        self.rung += [(owner, one) for one in subscription_ids]

    def take(self) -> list[tuple[Principal, str]]:
        """Return what was rung since the last time."""
        taken, self.rung = self.rung, []
        return taken
