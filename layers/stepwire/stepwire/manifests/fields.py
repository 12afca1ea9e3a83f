"""The fields of a manifest that have fields of their own, each with its words and its checks.

docs/manifest.md and docs/manifest.schema.json are made of these models and their words: `python -m
tests.docs.manifest_pages`.
"""

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Annotated, Any, Final, Literal, Self, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from stepwire.catalog import tools
from stepwire.codec import NO_TIME
from stepwire.json_text import Json, JsonObject, as_object, write
from stepwire.manifests.faults import invisible_faults, nearest
from stepwire.principal import ROLE_PATTERN, SCOPE_PATTERN
from stepwire.tasks.expressions import InvalidExpression, expression_of
from stepwire.tasks.inputs import KEY_PATTERN, InvalidQuestion, elicitation_of
from stepwire.tasks.runs import ALL, LARGEST_CONSTANTS, MOST_ATTEMPTS, MOST_RUNS, Plan, Retry, Run
from stepwire.tasks.task import LONGEST_TTL
from stepwire.tasks.tool_results import RESERVED_WORDS, block_fields, is_reserved, template_of

DEFAULT_WINDOW: Final = timedelta(hours=1)
# An older claim of a key is one whose request is over (`IdempotentCalls`).
SHORTEST_WINDOW: Final = timedelta(minutes=1)
LARGEST_ADDITION: Final = 8_192  # bytes of JSON
MOST_BLOCKS_WRITTEN: Final = 20
MOST_ERRORS: Final = 20
LARGEST_BACKOFF: Final = 10.0
LONGEST_PAUSE: Final = timedelta(days=1)
"""Of a retry's delay, and of the head start of an arm's rivals."""
KEY: Final = f"^{KEY_PATTERN.pattern}$"
_ARM: Final = r"^[A-Za-z0-9_-]{1,32}$"
_SIZE: Final = r"^([1-9][0-9]{0,4}x[1-9][0-9]{0,4}|any)$"
LARGEST_ICON: Final = 10_000  # characters
MOST_ICONS: Final = 4
SHAPES_WITHIN: Final = {
    _ARM: "1 to 32 letters, digits, '_' and '-'",
    KEY: "1 to 64 letters, digits, '_', '-' and '.'",
    _SIZE: "a width and a height in pixels, such as 48x48, or any",
    tools.ICON_PATTERN: (
        "an https URL, or an image as data:image/png;base64,... (also jpeg, webp and svg+xml) without spaces"
    ),
    SCOPE_PATTERN: "1 to 200 printable ASCII characters without spaces, quotes and backslashes",
    ROLE_PATTERN: "the ARN of a role, such as arn:aws:iam::123456789012:role/name",
}
"""What a text must be, by its pattern."""


def visible(text: str, *, keep: str = "") -> str:
    """Refuse a text with a character that nobody sees, but for those to keep."""
    for fault in invisible_faults(text, keep):
        raise ValueError(fault)
    return text


MemberName = Annotated[str, Field(min_length=1, max_length=64)]
Role = Annotated[str, Field(pattern=ROLE_PATTERN, max_length=2048)]
Title = Annotated[str, AfterValidator(visible)]
Text = Annotated[str, AfterValidator(partial(visible, keep="\n\r\t"))]


class Fields(BaseModel):
    """Fields of a manifest; there are no others.

    The text below each is its description in the documents, which `tests/docs/manifest_pages.py` reads from the source:
    to let pydantic read it takes a fifth of the import of this.
    """

    model_config = ConfigDict(extra="forbid")


class Annotations(Fields):
    """What a client may tell its user of a tool's behaviour: hints of the protocol, no guarantees."""

    model_config = ConfigDict(extra="forbid", strict=True)

    title: Title | None = None
    """As `title`, for clients that look for it here."""
    # The wire's names, as users know them.
    readOnlyHint: bool | None = None  # noqa: N815
    """Whether the tool changes nothing."""
    destructiveHint: bool | None = None  # noqa: N815
    """Whether what it changes may be lost."""
    idempotentHint: bool | None = None  # noqa: N815
    """Whether a second call with the same arguments changes nothing more."""
    openWorldHint: bool | None = None  # noqa: N815
    """Whether it acts on things outside your systems."""


class IconFields(Fields):
    """An image that clients may show beside a name."""

    src: str = Field(pattern=tools.ICON_PATTERN, max_length=LARGEST_ICON)
    """An `https` URL, or the image itself as `data:image/png;base64,...`: at most 10,000 characters. A
    page that may load nothing shows only the latter."""
    # The wire's name, as users know it.
    mimeType: Literal["image/png", "image/jpeg", "image/webp", "image/svg+xml"] | None = None  # noqa: N815
    """The type of the image, where the URL does not tell it."""
    sizes: list[Annotated[str, Field(pattern=_SIZE)]] = Field(default_factory=list[str], max_length=10)
    """The sizes in which it may be shown, such as `48x48`; `any` for SVG. Without it: any."""
    theme: Literal["light", "dark"] | None = None
    """The background that it is made for. Without it: any."""

    @model_validator(mode="after")
    def check_type(self) -> Self:
        """Check that the type is not another than that in a data: URI."""
        if self.mimeType and self.src.startswith("data:") and not self.src.startswith(f"data:{self.mimeType};"):
            raise ValueError(f"at mimeType: src has the type {self.src[5 : self.src.index(';')]}")
        return self


class Confirm(Fields):
    """What the user is asked before the workflow begins."""

    message: Text
    """What the user reads; `{name}` stands for the value of that argument."""
    key: str = Field(default="confirm", pattern=KEY)
    """The key of the question."""
    # Named as clients know it would be `requestedSchema`; here it stands beside `input_schema`.
    schema_: JsonObject = Field(default_factory=lambda: {"type": "object", "properties": {}}, alias="schema")
    """The form that the user fills in: simple fields only."""
    input_key: MemberName | None = None
    """The member of the workflow's input that gets the answer. Without it, the workflow does not get it."""

    @model_validator(mode="after")
    def check_form(self) -> Self:
        """Check that clients can show the form: simple fields only (M47)."""
        try:
            elicitation_of({"message": self.message, "requestedSchema": self.schema_})
        except InvalidQuestion as error:
            raise ValueError(str(error).replace("/requestedSchema", "/schema")) from None
        return self

    def confirmation(self) -> tools.Confirmation:
        """Return the question of the tool."""
        return tools.Confirmation(self.key, self.message, write(self.schema_), self.input_key)


class Idempotency(Fields):
    """Which arguments make calls equal, and for how long."""

    arguments: list[str] = Field(min_length=1)
    """The arguments that make two calls the same: required and plain."""
    window: timedelta | None = Field(default=None, ge=SHORTEST_WINDOW, le=LONGEST_TTL)
    """For how long. Without it: PT1H, or the `ttl` if that is shorter."""

    @model_validator(mode="before")
    @classmethod
    def takes_a_list(cls, value: Any) -> Any:
        """Read the short form: the arguments alone."""
        return {"arguments": cast(Any, value)} if isinstance(value, list) else value

    def for_tasks_of(self, ttl: timedelta) -> tools.Idempotency:
        """Return what makes the calls of a tool with this `ttl` equal."""
        return tools.Idempotency(tuple(self.arguments), self.window or min(DEFAULT_WINDOW, ttl))


class ContextFields(Fields):
    """Who calls, as a member of the workflow's input."""

    input_key: MemberName
    """The member of the workflow's input that says who calls. No caller can set it."""
    claims: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(default_factory=list[str], max_length=20)
    """The claims that the workflow gets, and no others."""

    @model_validator(mode="before")
    @classmethod
    def takes_a_name(cls, value: Any) -> Any:
        """Read the short form: the name of the member alone."""
        return {"input_key": value} if isinstance(value, str) else value

    @field_validator("claims")
    @classmethod
    def check_claims(cls, claims: list[str]) -> list[str]:
        """Check that no claim is listed twice."""
        twice = next((name for name in claims if claims.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"{twice!r} is listed twice")
        return claims


class InputFields(Fields):
    """What is merged into the workflow's input."""

    constants: dict[MemberName, Any] = Field(default_factory=dict[str, Any])
    """Members that are always as written here. No caller can set them."""
    defaults: dict[MemberName, Any] = Field(default_factory=dict[str, Any])
    """Members for calls that leave them out. Clients are not shown them."""

    @model_validator(mode="after")
    def check_size(self) -> Self:
        """Check that a call has room for arguments beside what is added to them."""
        for name in ("constants", "defaults"):
            if len(write(getattr(self, name)).encode()) > LARGEST_ADDITION:
                raise ValueError(f"at {name}: larger than {LARGEST_ADDITION} bytes of JSON")
        return self


class OutputFields(Fields):
    """What a client gets of the workflow's output."""

    object: str | None = Field(default=None, min_length=1, max_length=2_000)
    """A JMESPath expression for an S3 object below `result_prefix`, whose JSON is the output: [Leave large results in
    S3](talking_workflows.md#leave-large-results-in-s3). Null: the output itself."""
    structured: str | Literal[False] | None = None
    """A JMESPath expression: the structured content. Without it: the whole output. `false`: none."""
    text: str | None = Field(default=None, min_length=1, max_length=10_000)
    """A template: the first block of the content."""
    content: list[JsonObject] | None = Field(default=None, max_length=MOST_BLOCKS_WRITTEN)
    """Content blocks of MCP; their texts are templates, and `each` is an expression for a list."""
    meta: JsonObject = Field(default_factory=dict[str, Any])
    """Members of the result's `_meta`; their texts are templates."""

    @model_validator(mode="after")
    def check_all(self) -> Self:
        """Check that expressions, templates, blocks and the names of `_meta` are what they must be."""
        for fault in (*self._structured_faults(), *self._content_faults(), *self._meta_faults()):
            raise ValueError(fault)
        return self

    def compiled(self) -> JsonObject:
        """Return the form that is stored with each task."""
        text = [] if self.text is None else [{"type": "text", "text": self.text}]
        blocks = [*text, *(self.content or [])]
        shape = {
            "object": self.object,
            "structured": self.structured,
            "content": blocks if text or self.content is not None else None,
            "meta": self.meta or None,
        }
        return {name: value for name, value in shape.items() if value is not None}

    def _structured_faults(self) -> Iterator[str]:
        if self.object is not None:
            yield from _faults_of("object", expression_of, self.object)
        if isinstance(self.structured, str):
            yield from _faults_of("structured", expression_of, self.structured)
        elif self.structured is False and self.text is None and not self.content:
            yield "at structured: without structured content there must be text or content"

    def _content_faults(self) -> Iterator[str]:
        if self.text is not None:
            yield from _template_faults("text", self.text)
        for number, block in enumerate(self.content or []):
            yield from _block_faults(f"content.{number}", block)

    def _meta_faults(self) -> Iterator[str]:
        for name, value in self.meta.items():
            if not name or is_reserved(name):
                yield f"at meta: {name!r} is not yours: {RESERVED_WORDS}"
            yield from _template_faults(f"meta.{name}", value)


class ArmFields(Fields):
    """One of the state machines that race."""

    name: str = Field(pattern=_ARM)
    """What the result and messages call it."""
    state_machine: str | None = Field(default=None, min_length=1)
    """As `state_machine` of the tool, which holds for arms that name none."""
    role: Role | None = None
    """As `role` of the tool, for an arm with a `state_machine` of its own."""
    constants: dict[MemberName, Any] = Field(default_factory=dict[str, Any])
    """Members that the input of this arm alone has. No caller can set them."""
    delay: timedelta = Field(default=timedelta(), ge=timedelta(), le=LONGEST_PAUSE)
    """How long after the others it starts: their head start. It waits no longer than they run."""


class RaceFields(Fields):
    """State machines that work on one call at the same time: enough successes decide it."""

    arms: list[ArmFields] = Field(min_length=2, max_length=MOST_RUNS)
    """The state machines that race, two to five: a list of these fields."""
    quorum: int = Field(default=1, ge=1, le=MOST_RUNS, strict=True)
    """How many arms must succeed. The result is that of the arm with which there are enough."""

    @model_validator(mode="after")
    def check_together(self) -> Self:
        """Check what no field can tell alone."""
        names = [arm.name for arm in self.arms]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"at arms: the name {twice!r} is given twice")
        if self.quorum > len(self.arms):
            raise ValueError(f"at quorum: must be at most {len(self.arms)}, the number of arms")
        at_once = sum(arm.delay == timedelta() for arm in self.arms)
        if at_once < self.quorum:
            raise ValueError(
                f"at arms: at least {self.quorum} must start at once, without delay: as many as the quorum"
            )
        if len(write([arm.constants for arm in self.arms]).encode()) > LARGEST_CONSTANTS:
            raise ValueError(f"at arms: the constants of all arms together are larger than {LARGEST_CONSTANTS} bytes")
        return self

    def plan(self, tools_own: Run) -> Plan:
        """Return the runs of the tool, whose own state machine is that of arms that name none."""
        runs = tuple(
            Run(
                arm.state_machine or tools_own.state_machine_arn,
                arm.name,
                arm.role or "" if arm.state_machine else tools_own.role,
                write(arm.constants) if arm.constants else "",
                arm.delay or NO_TIME,
            )
            for arm in self.arms
        )
        return Plan(runs, self.quorum)


class RetryFields(Fields):
    """When another attempt follows a failed one."""

    attempts: int = Field(ge=2, le=MOST_ATTEMPTS, strict=True)
    """The most attempts, the first included."""
    # What Step Functions takes for an error's name.
    errors: list[Annotated[str, Field(min_length=1, max_length=256)]] = Field(
        default_factory=lambda: [ALL], min_length=1, max_length=MOST_ERRORS
    )
    """Names of errors, as `ErrorEquals` of Amazon States Language matches them, with `States.ALL`, `States.TaskFailed`
    and `States.Timeout`."""
    mode: Literal["restart", "redrive"] = "restart"
    """`restart`: a new execution with the same input. `redrive`: the failed execution goes on from its failed state."""
    fallback: Literal["restart", "none"] | None = None
    """What follows if Step Functions refuses to redrive. `restart`: a new execution. `none`: the task ends. Only with
    `mode: redrive`, where `restart` is the default."""
    delay: timedelta = Field(default=timedelta(seconds=1), ge=timedelta(), le=LONGEST_PAUSE)
    """The time from the first failure to the second attempt."""
    backoff: float = Field(default=2.0, ge=1.0, le=LARGEST_BACKOFF, strict=True)
    """The factor by which each further delay is longer."""
    longest_delay: timedelta = Field(default=timedelta(hours=1), ge=timedelta(), le=LONGEST_PAUSE)
    """No delay is longer than this."""
    jitter: Literal["none", "full"] = "none"
    """`full`: each delay is a random part of its length, so that tasks do not all come back at once."""

    @model_validator(mode="after")
    def check_together(self) -> Self:
        """Check what no field can tell alone."""
        if self.fallback is not None and self.mode != "redrive":
            raise ValueError("at fallback: only mode: redrive can fall back; leave it out")
        if self.longest_delay < self.delay:
            raise ValueError("at longest_delay: must be at least delay")
        if len(self.errors) > 1 and ALL in self.errors:
            raise ValueError(f"at errors: {ALL} includes the others; write it alone")
        return self

    def policy(self) -> Retry:
        """Return the policy of the tool."""
        return Retry(
            self.attempts,
            tuple(self.errors),
            redrives=self.mode == "redrive",
            may_restart=self.fallback != "none",
            delay=self.delay,
            backoff=self.backoff,
            longest_delay=self.longest_delay,
            has_jitter=self.jitter == "full",
        )


def _block_faults(where: str, block: JsonObject) -> Iterator[str]:
    kind = block.get("type")
    kinds = block_fields()
    if not isinstance(kind, str) or kind not in kinds:
        yield f"at {where}.type: must be one of {', '.join(kinds)}"
        return
    known, required = kinds[kind]
    for name in block:
        if name not in known and name != "each":
            near = nearest(name, tuple(known))
            words = f"did you mean {near}?" if near else f"a block of type {kind} has {', '.join((*known, 'each'))}"
            yield f"at {where}.{name}: unknown field; {words}"
    yield from (f"at {where}.{name}: is missing" for name in required if name not in block)
    if "each" in block:
        yield from _faults_of(f"{where}.each", expression_of, str(block["each"]))
    yield from _template_faults(where, {name: part for name, part in block.items() if name != "each"})


def _template_faults(where: str, template: Json) -> Iterator[str]:
    if isinstance(template, str):
        yield from _faults_of(where, template_of, template)
    elif isinstance(template, list):
        for number, part in enumerate(cast(list[Json], template)):
            yield from _template_faults(f"{where}.{number}", part)
    else:
        for name, part in as_object(template).items():
            yield from _template_faults(f"{where}.{name}", part)


def _faults_of(where: str, check: Callable[[str], object], text: str) -> Iterator[str]:
    try:
        check(text)
    except InvalidExpression as error:
        yield f"at {where}: {error}"
