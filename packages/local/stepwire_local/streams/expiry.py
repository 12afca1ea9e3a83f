"""Time to live (TTL): removes expired items from tables, as the DynamoDB service does, but sooner.

The rule: a removal writes a stream record like any other change; the record names the DynamoDB service as its author.
AWS removes items hours or days after their expiry; here a policy sets the delay. It maps an expired item to delays in
seconds, of which the first counts; `()` never removes it. `at_once`, `never` and `after(seconds)` are such policies.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from moto.dynamodb.models import dynamodb_backends

from stepwire_local.account.moto_patches.dynamodb import turns
from stepwire_local.account.status_events import never

logger = logging.getLogger(__name__)

_PAUSE = 0.1  # seconds between two sweeps, at least
_SHARE = 20  # sweeping takes at most 1/20 of the time: large tables are swept less often
_LONGEST_AGO = 5 * 365 * 86_400.0  # seconds; a longer expired value is not treated as a TTL, as in AWS

_SERVICE = {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}


@dataclass(frozen=True)
class ExpiredItem:
    """An expired item, in DynamoDB's JSON."""

    table: str
    attributes: dict[str, Any]


ExpiryPolicy = Callable[[ExpiredItem], Iterable[float]]


def sweep(tables: Iterable[str], account: str, region: str, *, at: datetime, policy: ExpiryPolicy) -> int:
    """Remove the expired items whose delay is over; return their number."""
    removed = 0
    for name in tables:
        with turns:
            table: Any = dynamodb_backends[account][region].tables.get(name)
            if table is None or table.ttl["TimeToLiveStatus"] != "ENABLED":
                continue
            due = [item for item in table.all_items() if _is_due(table, item, at.timestamp(), policy)]
            for item in due:
                _remove(table, item)
        removed += len(due)
    return removed


def _is_due(table: Any, item: Any, now: float, policy: ExpiryPolicy) -> bool:
    attribute = item.attrs.get(table.ttl["AttributeName"])
    if attribute is None or attribute.type != "N":
        return False
    over = now - float(attribute.value)
    if not 0 <= over <= _LONGEST_AGO:
        return False
    delays = policy(ExpiredItem(table.name, item.to_json()["Attributes"]))
    return any(over >= delay for delay in delays)


def _remove(table: Any, item: Any) -> None:
    table.delete_item(item.hash_key, item.range_key)
    if table.stream_shard is not None:
        table.stream_shard.items[-1].record["userIdentity"] = dict(_SERVICE)


class Sweeper:
    """Sweeps repeatedly in its own thread, while the policy is not `never`."""

    def __init__(self, tables: Sequence[str], account: str, region: str, policy: Callable[[], ExpiryPolicy]) -> None:
        self._tables = tables
        self._account = account
        self._region = region
        self._policy = policy
        self._stopping = threading.Event()

    def start(self) -> None:
        """Start sweeping."""
        threading.Thread(target=self._run, name="expiry", daemon=True).start()

    def stop(self) -> None:
        """Stop sweeping."""
        self._stopping.set()

    def sweep(self, at: datetime, policy: ExpiryPolicy) -> int:
        """Sweep once."""
        return sweep(self._tables, self._account, self._region, at=at, policy=policy)

    def _run(self) -> None:
        pause = _PAUSE
        while not self._stopping.wait(pause):
            begun = time.monotonic()
            try:
                self._sweep_by_policy()
            except Exception:
                logger.exception("Expired items could not be removed.")
            pause = max(_PAUSE, _SHARE * (time.monotonic() - begun))

    def _sweep_by_policy(self) -> None:
        policy = self._policy()
        if policy is not never:
            self.sweep(datetime.now().astimezone(), policy)
