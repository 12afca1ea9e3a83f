"""The ports of approvals in memory; the contract tests of `tests/contracts` hold for them as for the adapters."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from stepwire.extras.approvals.inbox import Asking, Found, InboxEntry, QuestionKey
from stepwire.extras.approvals.listening import MOST_FOUND, Subscriber
from stepwire.principal import Principal


class InMemoryInbox:
    """Open questions in a dictionary."""

    def __init__(self) -> None:
        self.entries: dict[QuestionKey, InboxEntry] = {}

    def add(self, entry: InboxEntry) -> None:
        known = self.entries.get(entry.key, entry)
        digests = tuple(dict.fromkeys((*known.digests, *entry.digests)))
        self.entries[entry.key] = InboxEntry(entry.key, digests, entry.asked_at, entry.expires_at)

    def remove(self, entry: InboxEntry) -> None:
        self.entries.pop(entry.key, None)

    def find(self, digests: Sequence[str], most: int) -> Found:
        found = [one for one in self.entries.values() if not set(digests).isdisjoint(one.digests)]
        in_order = tuple(one.key for one in sorted(found, key=lambda one: one.asked_at))
        return Found(in_order[:most], len(found) <= most)


class InMemoryAskings:
    """Answers that decide nothing, in a dictionary."""

    def __init__(self) -> None:
        self._kept: dict[tuple[Principal, str], Asking] = {}

    def note(self, approver: Principal, call: str, asking: Asking, until: datetime) -> None:
        known = self._kept.get((approver, call))
        if known is None or known.attempt < asking.attempt:
            self._kept[approver, call] = asking

    def find(self, approver: Principal, call: str) -> Asking | None:
        return self._kept.get((approver, call))


class InMemorySubscribers:
    """Those who hear of questions, in a dictionary."""

    def __init__(self) -> None:
        self._all: dict[Principal, Subscriber] = {}
        self.writes = 0

    def known(self, owner: Principal) -> Subscriber | None:
        return self._all.get(owner)

    def keep(self, subscriber: Subscriber) -> None:
        self.writes += 1
        self._all[subscriber.owner] = subscriber

    def find(self, digests: Iterable[str], at: datetime) -> Sequence[Subscriber]:
        wanted, live = set(digests), [one for one in self._all.values() if one.until > at]
        return [one for one in live if not wanted.isdisjoint(one.digests)][:MOST_FOUND]
