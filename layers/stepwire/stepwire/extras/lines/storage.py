"""The lines in which runs wait for their turns.

    pk  the line's key (`limits.line_key`), which is no principal
    sk  "line"                                      its state, and `version`, which every change compares
    sk  "turn#" + owner + task + run                a turn that is held
    sk  "place#" + owner + task + run               that a run waits, and where
    sk  "round#" + round + time + task + run        the same, in the order in which they are served
    sk  "share#" + owner                            how many runs of a caller wait, and the round of its last place
    pk  "lines"    sk  the line's key               a line that is in use; `restricted` if an operator has restricted it

The rule: items of a line change only in a transaction that changes the version of its state, so what was read with that
version is still so. Items that nobody removes expire; the next repair of the line counts anew (`turns`).
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from stepwire.aws.storage.table import Item, Table, in_seconds
from stepwire.codec import decode, encode_without
from stepwire.extras.lines.rules import Change, Held, Line, Place, Seen, Share, Ticket
from stepwire.principal import Principal
from stepwire.tasks.task import AFTER_ANY_TASK

_LINE: Final = "line"
_TURN: Final = "turn#"
_PLACE: Final = "place#"
_ROUND: Final = "round#"
_SHARE: Final = "share#"
LINES: Final = "lines"
RESTRICTED: Final = "restricted"
_IS_NEW: Final = "attribute_not_exists(pk)"
_IS_AS_READ: Final = "version = :version"
_FEWER: Final = (
    "SET waiting = if_not_exists(waiting, :count) - :count, #round = if_not_exists(#round, :none), "
    "expires_at = :expires"
)
_PAGE: Final = 1_000  # lines, of which the sweep looks after the first


class DynamoDbLines(Struct, frozen=True):
    """`Lines` in a DynamoDB table."""

    table: Table

    def see(self, key: str, ticket: Ticket) -> Seen:
        name = _name_of(ticket)
        wanted = (_LINE, _TURN + name, _PLACE + name, _SHARE + ticket.owner)
        line, turn, place, share = self.table.get_together([_key(key, one) for one in wanted])
        return Seen(
            None if line is None else _line_of(line),
            None if turn is None else decode(turn["turn"]["S"], Held),
            None if place is None else decode(place["place"]["S"], Place),
            Share() if share is None else Share(int(share["waiting"]["N"]), int(share["round"]["N"])),
        )

    def line(self, key: str) -> Line | None:
        item = self.table.get(_key(key, _LINE))
        return None if item is None else _line_of(item)

    def first(self, key: str, count: int = 1) -> Sequence[Place]:
        return [decode(item["place"]["S"], Place) for item in self._items(key, _ROUND, count)]

    def before(self, key: str, place: Place, most: int) -> int:
        answer = self.table.client.query(
            TableName=self.table.name,
            KeyConditionExpression="pk = :line AND sk BETWEEN :prefix AND :place",
            ExpressionAttributeValues={
                ":line": {"S": key},
                ":prefix": {"S": _ROUND},
                ":place": {"S": _order_of(place)},
            },
            Select="COUNT",
            Limit=most + 1,
        )
        return max(0, answer["Count"] - 1)  # the place is among them

    def turns(self, key: str, owner: Principal | None = None) -> Sequence[Held]:
        prefix = _TURN if owner is None else f"{_TURN}{owner}#"
        return [decode(item["turn"]["S"], Held) for item in self._items(key, prefix)]

    def in_use(self) -> Sequence[str]:
        found = self.table.query("pk = :pk", {":pk": {"S": LINES}}, most=_PAGE)
        return [item["sk"]["S"] for item in sorted(found, key=lambda item: RESTRICTED not in item)]

    def change(self, key: str, before: Line | None, change: Change, at: datetime) -> bool:
        lasts = at + AFTER_ANY_TASK
        parts = [
            self._state(key, before, change.line, lasts),
            *self._turns(key, change, lasts),
            *self._arrivals(key, change, lasts),
            *self._departures(key, change, lasts),
            *self._moves(key, change, lasts),
            *self._listing(key, before, change.line, lasts),
        ]
        return not self.table.transact(parts)

    def _state(self, key: str, before: Line | None, line: Line, lasts: datetime) -> Any:
        """Return the write of the state, under the condition that makes all writes one after another."""
        version = 0 if before is None else before.version
        state = {"line": {"S": encode_without(("version",), line)}, "version": {"N": str(version + 1)}}
        if before is None:
            return self._put(key, _LINE, state, lasts, ConditionExpression=_IS_NEW)
        values = {":version": {"N": str(version)}}
        return self._put(key, _LINE, state, lasts, ConditionExpression=_IS_AS_READ, ExpressionAttributeValues=values)

    def _turns(self, key: str, change: Change, lasts: datetime) -> Iterator[Any]:
        for turn in change.holds:
            yield self._put(key, _TURN + _name_of(turn.ticket), {"turn": {"S": encode_without((), turn)}}, lasts)
        for ticket in change.frees:
            yield self._delete(key, _TURN + _name_of(ticket))

    def _arrivals(self, key: str, change: Change, lasts: datetime) -> Iterator[Any]:
        for place in change.joins:
            text = {"place": {"S": encode_without((), place)}}
            yield self._put(key, _PLACE + _name_of(place.ticket), text, lasts)
            yield self._put(key, _order_of(place), text, lasts)
            if change.share is not None:
                share = {"waiting": {"N": str(change.share.waiting)}, "round": {"N": str(change.share.round)}}
                yield self._put(key, _SHARE + place.ticket.owner, share, lasts)

    def _departures(self, key: str, change: Change, lasts: datetime) -> Iterator[Any]:
        fewer = dict[Principal, int]()
        for place in change.leaves:
            yield self._delete(key, _PLACE + _name_of(place.ticket))
            yield self._delete(key, _order_of(place))
            fewer[place.ticket.owner] = fewer.get(place.ticket.owner, 0) + 1
        for owner, count in fewer.items():
            yield {
                "Update": {
                    "TableName": self.table.name,
                    "Key": _key(key, _SHARE + owner),
                    "UpdateExpression": _FEWER,
                    "ExpressionAttributeNames": {"#round": "round"},
                    "ExpressionAttributeValues": {
                        ":count": {"N": str(count)},
                        ":none": {"N": "0"},
                        ":expires": in_seconds(lasts),
                    },
                }
            }

    def _moves(self, key: str, change: Change, lasts: datetime) -> Iterator[Any]:
        for before, after in change.moves:
            text = {"place": {"S": encode_without((), after)}}
            yield self._put(key, _PLACE + _name_of(after.ticket), text, lasts)
            yield self._delete(key, _order_of(before))
            yield self._put(key, _order_of(after), text, lasts)

    def _listing(self, key: str, before: Line | None, line: Line, lasts: datetime) -> Iterator[Any]:
        """Yield what adds a line to those that are in use, or removes it."""
        was_in_use = before is not None and before.is_in_use
        is_mended = before is not None and line.mended_at != before.mended_at  # so that it does not expire
        is_marked = before is not None and line.is_restricted != before.is_restricted
        if line.is_in_use and (not was_in_use or is_mended or is_marked):
            mark: Item = {RESTRICTED: {"BOOL": True}} if line.is_restricted else {}
            yield self._put(LINES, key, {"pool": {"S": line.pool}, **mark}, lasts)
        elif was_in_use and not line.is_in_use:
            yield self._delete(LINES, key)

    def _put(self, pk: str, sk: str, attributes: Item, lasts: datetime, **condition: Any) -> Any:
        item = {**_key(pk, sk), **attributes, "expires_at": in_seconds(lasts)}
        return {"Put": {"TableName": self.table.name, "Item": item, **condition}}

    def _delete(self, pk: str, sk: str) -> Any:
        return {"Delete": {"TableName": self.table.name, "Key": _key(pk, sk)}}

    def _items(self, key: str, prefix: str, most: int | None = None) -> Iterator[Item]:
        """Yield the items of a line whose sort keys begin so, in their order: all, or so many."""
        values = {":pk": {"S": key}, ":prefix": {"S": prefix}}
        return self.table.query("pk = :pk AND begins_with(sk, :prefix)", values, most=most)


def _key(pk: str, sk: str) -> Item:
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def _name_of(ticket: Ticket) -> str:
    return f"{ticket.owner}#{ticket.task_id}#{ticket.run}"


def _order_of(place: Place) -> str:
    """Return the sort key by which a place is served."""
    joined = int(place.joined_at.timestamp() * 1000)
    return f"{_ROUND}{place.round:012}#{joined:014}#{place.ticket.task_id}#{place.ticket.run}"


def _line_of(item: Item) -> Line:
    return decode(item["line"]["S"], Line, version=int(item["version"]["N"]))


def share_key(line: str, owner: Principal) -> Item:
    """Return the primary key of what a line remembers of a caller."""
    return _key(line, _SHARE + owner)
