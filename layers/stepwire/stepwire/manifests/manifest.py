"""The manifest of a tool as the core has it: its fields, each with its words, and the tool that it describes.

Extras add fields to it (`model`).

docs/manifest.md and docs/manifest.schema.json are made of these models and their words: `python -m
tests.docs.manifest_pages`.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import chain
from typing import Annotated, Any, ClassVar, Final, Literal, Self, cast

from msgspec import to_builtins
from pydantic import AfterValidator, ConfigDict, Field, model_validator

from stepwire.catalog.tools import (
    ARGUMENT_PATTERN,
    NAME_PATTERN,
    OWN_TOOLS,
    Additions,
    Context,
    Machine,
    TaskSupport,
    Tool,
)
from stepwire.codec import NO_TIME
from stepwire.hooks import Doubt, ManifestFields
from stepwire.json_text import Json, JsonObject, as_object, write
from stepwire.manifests.faults import impossible_choices, invisible_words, wrong_types
from stepwire.manifests.fields import (
    MOST_ICONS,
    SHAPES_WITHIN,
    Annotations,
    Confirm,
    ContextFields,
    Fields,
    IconFields,
    Idempotency,
    InputFields,
    OutputFields,
    RaceFields,
    RetryFields,
    Role,
    Text,
    Title,
)
from stepwire.principal import SCOPE_PATTERN
from stepwire.protocol.http import check_annotations
from stepwire.schemas.defaults import default_faults
from stepwire.schemas.validation import SchemaError, check_schema, violations_of
from stepwire.schemas.work import resolved
from stepwire.tasks.outcomes import PRINCIPAL, TASK_ID
from stepwire.tasks.runs import Plan, Run
from stepwire.tasks.task import LONGEST_KEPT, LONGEST_TTL, Causes

_PLAIN_TYPES: Final = frozenset({"string", "integer", "number", "boolean", "null"})
_NAME: Final = f"^{NAME_PATTERN.pattern}$"
_BUCKET: Final = r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$"
_PREFIX: Final = r"^(([A-Za-z0-9!_.*'()-]|\{principal\}|\{task_id\})+/)+$"  # what S3 calls safe, and the variables
_GROUP: Final = r"^[a-z0-9][a-z0-9_-]{0,39}$"
MOST_GROUPS: Final = 10
SHAPES: Final = SHAPES_WITHIN | {
    _NAME: "1 to 128 letters, digits, '_', '-' and '.'",
    _BUCKET: "the name of a bucket: 3 to 63 lower-case letters, digits, '.' and '-'",
    _PREFIX: "a path that ends with '/', of letters, digits, !_.*'()- and the variables {principal} and {task_id}",
    _GROUP: "1 to 40 lower-case letters, digits, '_' and '-', not beginning with '_' or '-'",
}
"""What a text must be whose pattern nobody wants to read."""
# Keywords whose schemas describe the same object.
_SAME_PLACE: Final = ("allOf", "anyOf", "oneOf")
_SAME_PLACE_ALONE: Final = ("if", "then", "else")
LARGEST_SCHEMA: Final = 32_768  # bytes; it is kept with each task, in an item that has a limit


def _object_schema(schema: JsonObject) -> JsonObject:
    """M35: a client gives arguments as an object."""
    if schema.get("type") != "object":
        raise ValueError("at type: must be 'object'")
    check_annotations(_schema(schema))
    for fault in default_faults(schema):
        raise ValueError(fault)
    return schema


def _free_name(name: str) -> str:
    if name in OWN_TOOLS:
        raise ValueError(f"{name} is a tool of Stepwire's own: choose another name")
    return name


def _schema(schema: JsonObject) -> JsonObject:
    if len(write(schema).encode()) > LARGEST_SCHEMA:
        raise ValueError(f"larger than {LARGEST_SCHEMA} bytes of JSON")
    try:
        check_schema(schema)
    except SchemaError as error:
        raise ValueError(next(wrong_types(schema), str(error))) from None
    for fault in chain(invisible_words(schema), impossible_choices(schema)):
        raise ValueError(fault)
    return schema


class Manifest(Fields):
    """A tool as its author describes it."""

    # Built once with the fields of all extras, not for each model that adds some.
    model_config = ConfigDict(extra="forbid", defer_build=True)
    added: ClassVar[Mapping[str, ManifestFields[Any]]] = {}
    """What extras add, by their names."""

    name: Annotated[str, AfterValidator(_free_name)] = Field(pattern=_NAME)
    """The tool's name. Of a registered tool: the last part of the parameter's name."""
    title: Title | None = Field(default=None, min_length=1, max_length=200)
    """The tool's name for people."""
    description: Text = Field(min_length=1, max_length=10_000)
    """What the model reads when it chooses a tool."""
    state_machine: str | None = Field(min_length=1)
    """The name of a state machine of the endpoint's account and Region, or an ARN, also that of a version or an alias.
    Registered as a parameter, it may also be of type [EXPRESS](tools.md#state-machines-of-type-express). In a file:
    an ARN, or a name in the variable `STATE_MACHINES` (JSON, names and ARNs) that you give to `McpFunction`, of type
    STANDARD."""
    role: Role | None = None
    """The ARN of a role that runs a state machine of another account or Region: [Another account or
    Region](adopting.md#another-account-or-region)."""
    input_schema: Annotated[JsonObject, AfterValidator(_object_schema)]
    """JSON Schema 2020-12 of type object. Arguments that conform, with their [defaults](tools.md#the-workflows-input),
    become the execution's input."""
    output_schema: Annotated[JsonObject, AfterValidator(_schema)] | None = None
    """JSON Schema 2020-12. The server checks the structured content against it."""
    task_support: TaskSupport = TaskSupport.OPTIONAL
    """`optional`: the client chooses. `required`: a call that does not ask for a task is refused. `forbidden`: the
    client always waits for the result and gets no task."""
    ttl: timedelta = Field(default=timedelta(days=7), ge=timedelta(minutes=1), le=LONGEST_TTL)
    """How long the task is kept. Choose more than the longest run takes. Once the task has ended, it is kept for 30
    days at most."""
    keep_result: timedelta = Field(default=timedelta(days=1), ge=timedelta(), le=LONGEST_KEPT)
    """How long a result is kept after the task's end, even if the `ttl` ends sooner."""
    poll_interval: timedelta = Field(
        default=timedelta(seconds=2), ge=timedelta(milliseconds=100), le=timedelta(hours=1)
    )
    """The poll hint at the start."""
    longest_poll_interval: timedelta = Field(
        default=timedelta(minutes=1), ge=timedelta(milliseconds=100), le=timedelta(hours=1)
    )
    """The value to which the poll hint grows with the task's age."""
    annotations: Annotations | None = None
    """MCP's hints about the tool. Clients may show them; nothing is enforced."""
    client_capabilities: dict[str, JsonObject] = Field(default_factory=dict[str, JsonObject])
    """What a client must declare to call the tool, in the shape in which it declares it."""
    confirm: Confirm | None = None
    """A question to the user before anything starts: [Workflows that ask and
    report](talking_workflows.md#ask-before-anything-starts)."""
    show_state: bool = True
    """`false` hides the names of the workflow's states from clients."""
    result_bucket: str | None = Field(default=None, pattern=_BUCKET)
    """Links to this bucket, below `result_prefix`, become short-lived URLs: [Leave large results in
    S3](talking_workflows.md#leave-large-results-in-s3)."""
    result_prefix: str | None = Field(default=None, pattern=_PREFIX, max_length=200)
    """What the keys of such objects begin with. Without it: the name of the execution."""
    model_may_answer: bool = False
    """`true` lets a model answer the workflow's questions with the tool `task_answer`, if its client cannot ask a user.
    Without it a question waits for a person. A `confirm` always does."""
    show_errors: Literal["names", "redacted", "causes"] | None = None
    """How much of a failure's cause the client reads. `causes`: all of it. `redacted`, or without this field: the cause
    without ARNs and account numbers. `names`: only the error's name."""
    scopes: list[Annotated[str, Field(pattern=SCOPE_PATTERN)]] = Field(default_factory=list[str])
    """The scopes that a caller's token must have: [Sign-in](sign_in.md#scopes)."""
    idempotency: Idempotency | None = None
    """Makes two calls one: [Repeated calls without a key](tools.md#repeated-calls-without-a-key). A list is the short
    form of `arguments`."""
    input: InputFields | None = None
    """What is merged into [the workflow's input](tools.md#the-workflows-input)."""
    context: ContextFields | None = None
    """Adds who calls to the workflow's input: [Who calls](who_calls.md). A text is the short form of `input_key`."""
    output: OutputFields | None = None
    """The form of [the result](tools.md#the-result)."""
    race: RaceFields | None = None
    """Several state machines work on one call, and the first success decides it: [Races](tools.md#races). Without it,
    there is one."""
    retry: RetryFields | None = None
    """Runs a failed workflow again: [Retries](tools.md#retries). Without it, a task has one attempt."""
    groups: list[Annotated[str, Field(pattern=_GROUP)]] = Field(default_factory=list[str], max_length=MOST_GROUPS)
    """Names by which a client's URL can select the tool, such as `?group=finance`: [Groups of
    tools](tools.md#groups-of-tools)."""
    icons: list[IconFields] = Field(default_factory=list[IconFields], max_length=MOST_ICONS)
    """Images that clients may show beside the tool's name."""

    @property
    def machines(self) -> tuple[Machine, ...]:
        """The state machines that its calls start: one, or those of the arms in their order."""
        return self.tool().machines

    @model_validator(mode="before")
    @classmethod
    def has_machines_of_arms(cls, value: Any) -> Any:
        """Let the arms of a race name the state machines."""
        fields = as_object(value)
        return {**fields, "state_machine": None} if "race" in fields and "state_machine" not in fields else value

    @model_validator(mode="after")
    def check_together(self) -> Self:
        """Check what no field can tell alone."""
        checks = (
            self._machine_faults,
            self._output_faults,
            self._added_faults,
            self._constants_faults,
            self._link_faults,
            self._confirm_faults,
            self._key_faults,
        )
        for fault in chain.from_iterable(check() for check in checks):
            raise ValueError(fault)
        return self

    def _machine_faults(self) -> Iterator[str]:
        """Check that there is a state machine, or one for each arm of a race."""
        if self.race is None and self.state_machine is None:
            yield "at state_machine: is missing"
        arms = self.race.arms if self.race else []
        unnamed = [arm for arm in arms if arm.state_machine is None]
        if arms and not unnamed and (self.state_machine or self.role):
            yield "at state_machine: each arm names its own: leave it out, with its role"
        if arms and self.role and not self.state_machine:
            yield "at role: there is no state_machine that it could run: an arm names its own role"
        for arm in unnamed if self.state_machine is None else ():
            yield f"at race.arms: the arm {arm.name!r} names no state_machine, and neither does the tool"
        yield from (
            f"at race.arms: the arm {arm.name!r} has a role without a state_machine of its own"
            for arm in unnamed
            if arm.role is not None
        )
        yield from (
            f"at race.arms: the delay of {arm.name!r} must be shorter than ttl, after which nothing starts"
            for arm in arms
            if arm.delay >= self.ttl
        )

    def _output_faults(self) -> Iterator[str]:
        """Check that the shape of the output fits the promised schema, and the task's item, which has both."""
        if self.output is None:
            return
        if self.output.structured is False and self.output_schema is not None:
            yield "at output.structured: output_schema promises structured content, so it must not be false"
        if len(write([self.output.compiled(), self.output_schema]).encode()) > LARGEST_SCHEMA:
            yield f"at output: together with output_schema larger than {LARGEST_SCHEMA} bytes of JSON"

    def _added_faults(self) -> Iterator[str]:
        """Check that each name that the server sets is one thing, and nothing that callers send."""
        shape = self.input or InputFields()
        added = {f"input.constants.{name}": name for name in shape.constants}
        added |= {"context.input_key": self.context.input_key} if self.context else {}
        offered = set(_offered_names(self.input_schema))
        taken = dict.fromkeys(self._confirm_keys, "confirm.input_key")
        for field, name in added.items():
            if name in offered:
                yield f"at {field}: {name!r} is a property of input_schema, which callers set: choose another name"
            elif name in taken:
                yield f"at {field}: {name!r} is also the name in {taken[name]}"
            taken.setdefault(name, field)
        for name, value in shape.defaults.items():
            if name in taken:
                yield f"at input.defaults.{name}: {name!r} is also the name in {taken[name]}"
            yield from (
                f"at input.defaults.{name}: {fault}" for fault in _default_faults(self.input_schema, name, value)
            )

    def _constants_faults(self) -> Iterator[str]:
        """Check that a member of the input is set by an arm, by the tool, or by the caller."""
        taken = dict.fromkeys(_offered_names(self.input_schema), "a property of input_schema, which callers set")
        shape = self.input or InputFields()
        taken |= dict.fromkeys((*shape.constants, *shape.defaults), "also a name in input")
        taken |= {self.context.input_key: "also the name in context.input_key"} if self.context else {}
        taken |= dict.fromkeys(self._confirm_keys, "also the name in confirm.input_key")
        for arm in self.race.arms if self.race else ():
            for name in arm.constants:
                if name in taken:
                    yield f"at race.arms: the constant {name!r} of {arm.name!r} is {taken[name]}: choose another name"

    def _link_faults(self) -> Iterator[str]:
        """Check that the prefix of result links keeps callers apart: it must contain the principal or the task id."""
        if self.output is not None and self.output.object is not None and self.result_bucket is None:
            yield "at output.object: there is no result_bucket that it could be in"
        if self.result_prefix is None:
            return
        if self.result_bucket is None:
            yield "at result_prefix: there is no result_bucket that it could be in"
        if PRINCIPAL not in self.result_prefix and TASK_ID not in self.result_prefix:
            yield f"at result_prefix: must have {PRINCIPAL} or {TASK_ID} in it"
        if {".", ".."} & set(self.result_prefix.split("/")):
            yield "at result_prefix: must have no . or .. between slashes"

    def _confirm_faults(self) -> Iterator[str]:
        """Check that `confirm.message` names only properties of `input_schema`, and `confirm.input_key` none."""
        properties = self.input_schema.get("properties", {})
        for name in ARGUMENT_PATTERN.findall(self.confirm.message) if self.confirm else ():
            if name not in properties:
                yield f"at confirm.message: {{{name}}} is no property of input_schema"
        for key in self._confirm_keys:
            if key in properties:
                yield f"at confirm.input_key: {key!r} is a property of input_schema already"

    def _key_faults(self) -> Iterator[str]:
        """A key must be there in every call, mean one thing, and end no later than the task that it stands for."""
        if self.idempotency is None:
            return
        for name in self.idempotency.arguments:
            problem = key_problem(self.input_schema, name)
            if problem is not None:
                yield f"at idempotency.arguments: {name!r} {problem}"
        if len(set(self.idempotency.arguments)) < len(self.idempotency.arguments):
            yield "at idempotency.arguments: a name is given twice"
        if self.idempotency.window is not None and self.idempotency.window > self.ttl:
            yield "at idempotency.window: must not be longer than ttl, after which there is no task to get"

    @property
    def _confirm_keys(self) -> tuple[str, ...]:
        key = self.confirm.input_key if self.confirm else None
        return () if key is None else (key,)

    def tool(self) -> Tool:
        """Return the tool, with its state machines as they are named here."""
        alone = Run(self.state_machine or "", role=self.role or "")
        return Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            plan=self.race.plan(alone) if self.race else Plan((alone,)),
            input_schema=write(self.input_schema),
            output_schema=None if self.output_schema is None else write(self.output_schema),
            task_support=self.task_support,
            ttl=self.ttl,
            keep_result=self.keep_result or NO_TIME,
            poll_interval=self.poll_interval,
            longest_poll_interval=max(self.poll_interval, self.longest_poll_interval),
            annotations=self.annotations and self.annotations.model_dump(exclude_none=True),
            client_capabilities=dict(self.client_capabilities),
            confirmation=self.confirm and self.confirm.confirmation(),
            shows_state=self.show_state,
            result_bucket=self.result_bucket,
            result_prefix=self.result_prefix,
            causes=Causes.REDACTED if self.show_errors is None else Causes(self.show_errors),
            model_may_answer=self.model_may_answer,
            scopes=tuple(self.scopes),
            idempotency=self.idempotency and self.idempotency.for_tasks_of(self.ttl),
            additions=self._additions(),
            output_shape=None if self.output is None else write(self.output.compiled()),
            retry=self.retry and self.retry.policy(),
            groups=tuple(dict.fromkeys(self.groups)),
            icons=tuple(one.model_dump(exclude_defaults=True) for one in self.icons),
            extras={
                name: to_builtins(part)
                for name, fields in self.added.items()
                if (part := fields.part(self)) is not None
            },
        )

    def doubts(self, definitions: Sequence[JsonObject]) -> Iterator[Doubt]:
        """Yield what is doubtful about it beside the definitions of its state machines."""
        for fields in self.added.values():
            yield from fields.doubts(self, definitions)

    def _additions(self) -> Additions:
        arms = self.race.arms if self.race else ()
        return Additions(
            self.input.constants if self.input else {},
            self.input.defaults if self.input else {},
            self.context and Context(self.context.input_key, tuple(self.context.claims)),
            tuple(dict.fromkeys(name for arm in arms for name in arm.constants)),
        )


def key_problem(input_schema: JsonObject, name: str, made: str = "key") -> str | None:
    """Return why an argument cannot be a part of an idempotency key, or choose a line; None if it can."""
    properties = as_object(input_schema.get("properties"))
    if name not in properties:
        return "is no property of input_schema"
    if name not in input_schema.get("required", ()):
        return "is not required by input_schema: a call without it would be equal to any other without it"
    schema = as_object(properties[name])
    if {"type", "enum", "const"}.isdisjoint(schema):
        return f"must have a type in input_schema: {', '.join(sorted(_PLAIN_TYPES))}"
    listed = schema.get("type", [])
    types = set(cast(list[str], listed if isinstance(listed, list) else [listed]))
    values = [*schema.get("enum", []), *([schema["const"]] if "const" in schema else [])]
    if not types <= _PLAIN_TYPES or any(isinstance(value, dict | list) for value in values):
        return f"may be nested: a {made} is made of {', '.join(sorted(_PLAIN_TYPES))} only"
    return None


def _default_faults(input_schema: JsonObject, name: str, value: Json) -> Iterator[str]:
    if name not in as_object(input_schema.get("properties")):
        return
    only: JsonObject = {key: input_schema[key] for key in ("$defs", "$schema") if key in input_schema}
    schema = {**only, "type": "object", "properties": {name: input_schema["properties"][name]}}
    yield from (str(fault) for fault in violations_of(write(schema), {name: value})[:1])


def _offered_names(schema: JsonObject) -> Iterator[str]:
    """Yield the names of the properties that a schema describes at its top, also by what it refers to."""
    waiting, seen = [schema], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield from as_object(one.get("properties"))
        yield from cast(list[str], one.get("required", []))
        parts = [part for keyword in _SAME_PLACE for part in cast(list[Json], one.get(keyword, []))]
        parts += [one[keyword] for keyword in _SAME_PLACE_ALONE if keyword in one]
        parts += as_object(one.get("dependentSchemas")).values()
        waiting += [as_object(part) for part in parts]
        waiting += [resolved(schema, one["$ref"])] if "$ref" in one else []
