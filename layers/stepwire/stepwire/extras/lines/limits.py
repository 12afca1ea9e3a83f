"""What a tool limits: how many executions run at once, how many start in a time, and who may wait.

A limit has a name, that of its tool, and a line for each value that it is counted for: one for all, one for each
caller, or one for each value of an argument. `rules` says what happens in a line. Values only.
"""

import hashlib
import json
from datetime import timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stepwire.catalog.tools import Caller, Catalog, Tool
from stepwire.codec import decode, encode_without
from stepwire.errors import WorkflowNotStarted
from stepwire.json_text import Json, JsonObject, equal_form
from stepwire.tasks.line import LineTerms

PER_CALLER: Final = "caller"
MOST_WAITING: Final = 1_000
"""Of a line whose manifest does not say."""
MOST_STARTS: Final = 300
"""Of a rate: the times of the last starts are in one small item."""


class Starts(Struct, frozen=True):
    """A rate: at most so many starts in any span of that length."""

    most: int
    every: timedelta


class Rules(Struct, frozen=True, omit_defaults=True):
    """The rules of a line."""

    most: int | None = None
    """The most executions at once; None: any number."""
    starts: Starts | None = None
    waiting: int = MOST_WAITING
    """The most runs that may wait."""
    longest: timedelta | None = None
    """The longest that a run may have to wait, as far as that can be estimated; None: any time."""
    reserved: int = 0
    """Of `most`, the turns that only callers without one get."""


class Terms(Struct, frozen=True, omit_defaults=True):
    """On which terms the runs of a task get turns, as they were when the task was called."""

    rules: Rules
    is_own: bool = False
    """Whether nobody else may stand in the line, or all callers are one."""


def terms_of(line: LineTerms) -> Terms:
    """Return the terms of a task in a line."""
    return decode(line.terms, Terms)


class Concurrency(Struct, frozen=True, omit_defaults=True):
    """How many executions of a tool run at once, and who waits for the others."""

    pool: str
    """The name of the limit, which is that of the tool whose limit it is."""
    rules: Rules = Rules()
    """They count for nothing where the limit is another tool's."""
    per: str = ""
    """What it is counted for: an argument, `caller`, or nothing, if there is one limit for all."""
    shared_with: tuple[str, ...] = ()
    """Names of the tools that may share the limit, or beginnings of them that end in `*`."""

    @property
    def kind(self) -> str:
        """What each line of the limit is for: an `argument`, a `caller`, or all."""
        return {PER_CALLER: PER_CALLER, "": ""}.get(self.per, "argument")

    def line(self, limit: "Concurrency", arguments: JsonObject, caller: Caller) -> LineTerms:
        """Return the line of a call, in the limit that holds for it: this one, or the one that the tool shares."""
        value = caller.principal if self.per == PER_CALLER else arguments.get(self.per)
        is_own = caller.is_everybody or self.per == PER_CALLER
        rules = replace(limit.rules, reserved=0) if is_own else limit.rules
        terms = Terms(rules, is_own=is_own)
        return LineTerms(line_key(limit.pool, self.kind, value), limit.pool, encode_without((), terms))

    def fault_of_sharing(self, tool: str, limit: "Concurrency | None") -> str | None:
        """Return why a tool may not share the limit of another one; None if it may."""
        if limit is None or limit.pool != self.pool:
            return f"there is no tool {self.pool} with a limit of its own"
        if not any(tool.startswith(one[:-1]) if one.endswith("*") else tool == one for one in limit.shared_with):
            return f"{self.pool} does not share its limit with it (concurrency.shared_with of {self.pool})"
        if self.kind != limit.kind:
            counted = {"": "leave it out", PER_CALLER: f"write {PER_CALLER}"}.get(limit.kind, "name an argument")
            return f"concurrency.per is not what {self.pool} counts for: {counted}"
        return None


def limit_of(catalog: Catalog, tool: Tool, own: Concurrency) -> Concurrency:
    """Return the limit that holds for a tool: its own, or the one that it shares.

    Raises:
        WorkflowNotStarted: the limit is another tool's, whose owner does not share it with this one.
    """
    if own.pool == tool.name:
        return own
    owner = catalog.tools.get(own.pool)
    limit = None if owner is None else owner.kept_by("lines", Concurrency)
    fault = own.fault_of_sharing(tool.name, limit)
    if fault is not None or limit is None:
        words = f"The workflow of {tool.name} cannot run here: {fault}. Its operator can change that."
        raise WorkflowNotStarted(words)
    return limit


def line_of(catalog: Catalog, tool: Tool, arguments: JsonObject, caller: Caller) -> LineTerms | None:
    """Return the line in which a call waits; None: its tool has no limit. Raises as `limit_of` does."""
    own = tool.kept_by("lines", Concurrency)
    return None if own is None else own.line(limit_of(catalog, tool, own), arguments, caller)


def line_key(pool: str, kind: str = "", value: Json = None) -> str:
    """Return the key of a line, which is nobody's principal.

    Args:
        pool: the name of the limit.
        kind: what it is counted for: `caller`, `argument`, or nothing, if there is one line.
        value: the principal, or the value of the argument.
    """
    text = json.dumps([pool, kind, equal_form(value)], sort_keys=True)
    return f"line#{hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}"
