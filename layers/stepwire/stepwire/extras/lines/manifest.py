"""The fields of a manifest that limit how many executions of a tool run at once, and the limit that they describe."""

from datetime import timedelta
from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from stepwire.catalog.tools import NAME_PATTERN
from stepwire.extras.lines.limits import MOST_STARTS, MOST_WAITING, PER_CALLER, Concurrency, Rules, Starts
from stepwire.hooks import ManifestFields
from stepwire.manifests.fields import Fields, MemberName
from stepwire.manifests.manifest import Manifest, key_problem
from stepwire.tasks.limiter import reserved_of
from stepwire.tasks.task import LONGEST_TTL

_TOOL: Final = f"^{NAME_PATTERN.pattern}$"
_TOOLS: Final = r"^([A-Za-z0-9_.-]{1,128}|[A-Za-z0-9_.-]{0,127}\*)$"
MOST_SHARING: Final = 50
MOST_AT_ONCE: Final = 10_000
LONGEST_LINE: Final = 100_000


class QueueFields(Fields):
    """Who may wait for a turn."""

    most: int = Field(default=MOST_WAITING, ge=0, le=LONGEST_LINE, strict=True)
    """The most calls that wait in one line; others are refused, with the time to call again."""
    longest: timedelta | None = Field(default=None, ge=timedelta(seconds=1), le=LONGEST_TTL)
    """A call that would wait longer is refused, as far as the wait can be estimated. Without it: any time."""


class StartFields(Fields):
    """A rate of starts."""

    most: int = Field(ge=1, le=MOST_STARTS, strict=True)
    """The most starts in any span of that length."""
    every: timedelta = Field(ge=timedelta(seconds=1), le=timedelta(days=1))
    """The length of the span."""


class ConcurrencyFields(Fields):
    """How many executions run at once. Other calls wait in line."""

    most: int | None = Field(default=None, ge=1, le=MOST_AT_ONCE, strict=True)
    """The most executions at once; each arm of a race is one."""
    reserved: int | None = Field(default=None, ge=0, strict=True)
    """Of `most`, the executions that only callers of whom none runs may begin. Without it: 2, or a fifth of `most` from
    15 on, but never all; none where all callers are one, or each has a limit of its own."""
    per: MemberName | None = None
    """What the limit is counted for: `caller`, or the name of an argument, for each of its values. Without it, there is
    one limit for all calls."""
    pool: str | None = Field(default=None, pattern=_TOOL)
    """The name of the tool whose limit this one shares, with its numbers, its line and its order. That tool must name
    this one in `shared_with`."""
    shared_with: list[Annotated[str, Field(pattern=_TOOLS)]] = Field(default_factory=list[str], max_length=MOST_SHARING)
    """The tools that may share the limit, by name or, with `*` at the end, by its beginning."""
    queue: QueueFields = Field(default_factory=QueueFields)
    """Who may wait."""
    start: StartFields | None = None
    """A rate of starts, beside `most` or alone."""

    @model_validator(mode="after")
    def check_together(self) -> Self:
        """Check that something is limited, by one manifest."""
        if self.pool is None and self.most is None and self.start is None:
            raise ValueError("limits nothing: give most or start, or with pool a tool that does")
        if self.reserved is not None and self.reserved >= (self.most or 0):
            raise ValueError("at reserved: must be less than most")
        others = sorted(self.model_fields_set - {"pool", "per"})
        if self.pool is not None and others:
            raise ValueError(
                f"the numbers, the order and the sharing are of {self.pool}: leave out {', '.join(others)}"
            )
        return self

    def compiled(self, tool: str) -> Concurrency:
        """Return what the tool limits."""
        starts = None if self.start is None else Starts(self.start.most, self.start.every)
        reserved = reserved_of(self.most or 0) if self.reserved is None else self.reserved
        rules = Rules(self.most, starts, self.queue.most, self.queue.longest, reserved)
        return Concurrency(self.pool or tool, rules, self.per or "", tuple(self.shared_with))


class ManifestWithLimit(Manifest):
    """A manifest with a limit."""

    concurrency: ConcurrencyFields | None = None
    """Not more than so many executions at once, and who waits for the others: [Limits per
    tool](extras/lines.md). Without it, every call starts at once."""

    @model_validator(mode="after")
    def check_limit(self) -> Self:
        """A limit's value must be there in every call, and mean one thing; a shared limit is another tool's."""
        if self.concurrency is None:
            return self
        if self.concurrency.pool == self.name:
            raise ValueError(
                "at concurrency.pool: is this tool itself: leave it out, or name the tool whose limit it shares"
            )
        per = self.concurrency.per
        if per == PER_CALLER:
            if per in self.input_schema.get("properties", {}):
                raise ValueError(
                    "at concurrency.per: 'caller' is who calls, and also a property of input_schema: rename that"
                )
        elif per is not None:
            problem = key_problem(self.input_schema, per, "line")
            if problem is not None:
                raise ValueError(f"at concurrency.per: {per!r} {problem}")
        return self


FIELDS: Final = ManifestFields(
    model=ManifestWithLimit,
    part=lambda manifest: manifest.concurrency and manifest.concurrency.compiled(manifest.name),
    need_task=("concurrency",),
    shapes={_TOOLS: "the name of a tool, or the beginning of names with '*' behind it"},
    other_names=dict.fromkeys(("limit", "limits", "line", "lines"), "concurrency"),
)
