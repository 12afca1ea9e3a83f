"""What of an extra is in use, so that a stack without the extra would lose it, or break a promise to somebody.

The rule: nothing is written, and little is read, whatever the table holds. What is counted up to a bound says "at
least", and what may not be read counts as in use. An extra says in its module `in_use` what it holds (`USES`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import Any, Final, Generic, TypeVar, cast

from stepwire.aws.storage.items import NEGLECTED_INDEX, SHARDS, TASK_PREFIX, task_of
from stepwire.aws.storage.published_catalog import HEAD, key_of, names_in, unpacked
from stepwire.aws.storage.table import Item
from stepwire.composition import switched_on
from stepwire.tasks.task import Task
from stepwire_cli.account.calls import Calls
from stepwire_cli.account.errors import AccountError
from stepwire_cli.deployment.release import needs_of
from stepwire_cli.deployment.stack import TABLE, Stack
from stepwire_cli.extras import parts

MOST_TASKS: Final = 1_000
"""That are read: about 1,000 read units, $0.00013."""
MOST_PAGES: Final = 20
"""Of a query or a scan, a megabyte each: at most 2,560 read units, $0.00032."""
_BATCH: Final = 100  # items that DynamoDB returns at once

T = TypeVar("T")


@dataclass(frozen=True)
class Sample(Generic[T]):
    """What was read of something."""

    found: tuple[T, ...]
    is_all: bool

    def count(self, number_in: Callable[[T], int]) -> str:
        """Return how many there are, in words; empty: none."""
        number = sum(map(number_in, self.found))
        if self.is_all:
            return f"{number:,}" if number else ""
        return f"at least {number:,}" if number else "perhaps some, for there is more than this command reads"


@dataclass(frozen=True)
class Contents:
    """What an endpoint holds. Each read raises AccountError if the table may not be read."""

    calls: Calls
    stack: Stack
    at: datetime

    @cached_property
    def tasks(self) -> Sample[Task]:
        """The tasks that go on, with a bound; those come first that were not checked for the longest time."""
        pages = [self._unended(shard) for shard in SHARDS]
        keys = [{name: item[name] for name in ("pk", "sk")} for page in pages for item in page["Items"]]
        heads = self._got([key for key in keys if key["sk"]["S"].startswith(TASK_PREFIX)])
        tasks = (task_of(head) for head in heads.found)
        is_all = heads.is_all and not any(page.get("LastEvaluatedKey") for page in pages)
        return Sample(tuple(one for one in tasks if not one.has_ended and one.expires_at > self.at), is_all)

    def parameter(self, name: str) -> str:
        """Return a parameter of the stack; nothing where it has none."""
        return self.stack.parameters.get(name, "")

    def setting(self, name: str, off: str = "") -> str:
        """Return a parameter with its value, as NAME=VALUE; nothing where the stack has none, or it is off."""
        value = self.parameter(name)
        return "" if value in ("", off) else f"{name}={value}"

    def items(self, operation: str, **query: Any) -> Sample[Item]:
        """Return the items that a query or a scan of the table finds, with a bound."""
        pages = list(islice(self.calls.table_pages(operation, TableName=self._table, **query), MOST_PAGES))
        found = tuple(cast(Item, item) for page in pages for item in page["Items"])
        return Sample(found, not pages[-1].get("LastEvaluatedKey"))

    @cached_property
    def needed_by_tools(self) -> Mapping[str, Sequence[str]]:
        """The names of the registered tools that are not served without an extra, by the extra."""
        heads = self._got([HEAD]).found
        shards = self._got([key_of(name) for head in heads for name in names_in(head)]).found
        needs = [needs_of(unpacked(shard)) for shard in shards]
        return {extra: [name for need in needs for name in need.get(extra, ())] for need in needs for extra in need}

    def _unended(self, shard: str) -> Any:
        return self.calls.call(
            "dynamodb",
            "Query",
            TableName=self._table,
            IndexName=NEGLECTED_INDEX,
            KeyConditionExpression="#open = :shard",
            ExpressionAttributeNames={"#open": "open"},
            ExpressionAttributeValues={":shard": {"S": shard}},
            Limit=MOST_TASKS // len(SHARDS),
        )

    def _got(self, keys: Sequence[Item]) -> Sample[Item]:
        """Return the items with these keys; one that is gone is left out."""
        found, is_all = list[Item](), True
        for first in range(0, len(keys), _BATCH):
            wanted = {self._table: {"Keys": keys[first : first + _BATCH]}}
            answer = self.calls.call("dynamodb", "BatchGetItem", RequestItems=wanted)
            found += cast(list[Item], answer["Responses"].get(self._table, []))
            is_all = is_all and not answer.get("UnprocessedKeys")
        return Sample(tuple(found), is_all)

    @property
    def _table(self) -> str:
        """The name of the table.

        Raises:
            AccountError: the stack does not say it.
        """
        if TABLE not in self.stack.outputs:
            raise AccountError(f"{self.stack.name} has no output {TABLE}")
        return self.stack.outputs[TABLE]


@dataclass(frozen=True)
class Use:
    """Something that an extra holds for people."""

    what: str
    """In the plural, such as "subscriptions"."""
    then: str
    """What becomes of it without the extra, and when the extra is back: goes on after "Without the extra,"."""
    first: str
    """What to do before: a sentence."""
    seen: Callable[[Contents], str]
    """Returns how much of it there is, or which, in words; empty: nothing."""


@dataclass(frozen=True)
class InUse:
    """Something that a stack would lose with an extra."""

    extra: str
    use: Use
    seen: str
    """How much of it there is, or which; empty: nobody could see."""
    fault: str = ""
    """Why nobody could see."""

    @property
    def words(self) -> str:
        """What a person is shown."""
        seen = self.seen or f"this could not be looked up ({self.fault})"
        return f"{self.extra}, {self.use.what}: {seen}. {self._then} {self.use.first}"

    def as_json(self) -> dict[str, Any]:
        """Return it for programs."""
        seen = self.seen or None
        told = {"extra": self.extra, "what": self.use.what, "seen": seen, "then": self._then}
        return {**told, "first": self.use.first, **({"fault": self.fault} if self.fault else {})}

    @property
    def _then(self) -> str:
        return f"Without the extra, {self.use.then}"


def uses_of(extra: str) -> Iterator[Use]:
    """Yield what an extra may hold."""
    for part in parts("in_use"):
        if part.__name__.split(".")[-2] == extra:
            yield from part.USES
    if any(one.fields is not None for one in switched_on((extra,))):
        yield _tools_of(extra)


def in_use(contents: Contents, extras: Iterable[str], of: Callable[[str], Iterable[Use]]) -> tuple[InUse, ...]:
    """Return what of these extras is in use, or may be. `of` gives what each may hold."""
    found = (_found(contents, name, use) for name in extras for use in of(name))
    return tuple(one for one in found if one is not None)


def _found(contents: Contents, extra: str, use: Use) -> InUse | None:
    try:
        seen = use.seen(contents)
    except AccountError as error:
        return InUse(extra, use, "", str(error))
    return InUse(extra, use, seen) if seen else None


def _tools_of(extra: str) -> Use:
    """Return the use that an extra with fields in manifests may have."""
    return Use(
        "tools whose manifests need it",
        "they are not listed and cannot be called; their tasks can be read. They are served again when it is back.",
        "Take its fields out of their manifests if they are to be called without it.",
        lambda contents: ", ".join(sorted(contents.needed_by_tools.get(extra, ()))),
    )
