"""The tools that clients may call, and their stored form, which follows from the types.

The manifests are checked and compiled elsewhere (`stepwire.manifests`), so no YAML parser and no schema compiler runs
before a request needs one. The rules: a field of a stored type is written here and nowhere else; and a
member of a workflow's input that the server sets is never the caller's. Its name is no property of the schema that is
shown, and a call with a member of that name is refused.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from enum import Enum
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Final

from msgspec import DecodeError, Raw, Struct, field
from msgspec.json import encode
from msgspec.structs import replace

from stepwire.codec import NO_TIME, T, decode, value_of
from stepwire.composition import RESERVED_TOOLS
from stepwire.errors import CatalogError, UnknownTool
from stepwire.json_text import JsonObject, as_object, load_json
from stepwire.principal import Caller
from stepwire.protocol.http import ParameterHeader, parameter_headers
from stepwire.schemas.defaults import Defaults
from stepwire.schemas.validation import compile_ahead
from stepwire.tasks.inputs import FormElicitation
from stepwire.tasks.question_schemas import LONGEST_QUESTION
from stepwire.tasks.runs import Plan, Retry
from stepwire.tasks.task import Causes
from stepwire.visible_text import quoted

FORMAT: Final = 1
"""The format of a compiled catalog. A version serves no tools of a format that it does not know."""
NAME_PATTERN: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")  # M34
ARGUMENT_PATTERN: Final = re.compile(r"\{([A-Za-z0-9_-]+)\}")
"""Where the question of a `confirm` has the value of an argument."""
RESULT_TOOL: Final = "task_result"
CANCEL_TOOL: Final = "task_cancel"
ANSWER_TOOL: Final = "task_answer"
LIST_TOOL: Final = "task_list"
TASK_TOOLS: Final = frozenset({RESULT_TOOL, CANCEL_TOOL, ANSWER_TOOL, LIST_TOOL})
"""The names of the tools for clients without tasks."""
OWN_TOOLS: Final = TASK_TOOLS | RESERVED_TOOLS
"""The names of Stepwire's own tools; no manifest may take one."""
ARN_PATTERN: Final = re.compile(r"arn:[a-z-]+:states:[a-z0-9-]+:\d{12}:stateMachine:[^:]+(:[A-Za-z0-9_.-]+)?")
ICON_PATTERN: Final = (
    r"^(https://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9._~:/?#@!$&'()*+,;=%-]*)?"
    r"|data:image/(png|jpeg|webp|svg\+xml);base64,[A-Za-z0-9+/]+={0,2})$"
)
"""What the source of an icon may be. Whoever shows it may fetch a URL, so it is one of no other scheme."""
_NOT_OURS: Final = "catalog.json is not what this version of Stepwire compiles: run `make catalog` again"


class Context(Struct, frozen=True, omit_defaults=True):
    """Tells the workflow who calls."""

    input_key: str
    """The member of the workflow's input that says so."""
    claims: tuple[str, ...] = ()
    """The claims that the workflow gets, and no others."""

    def member(self, caller: Caller, task_id: str, tool: str) -> JsonObject:
        """Return the member; a claim that the caller does not have is null."""
        claims = {name: caller.claims.get(name) for name in self.claims}
        return {"principal": caller.principal, "task_id": task_id, "tool": tool, "claims": claims}


class Additions(Struct, frozen=True, dict=True, omit_defaults=True):
    """What is added to the arguments of a tool's calls."""

    constants: JsonObject = field(default_factory=dict[str, Any])
    defaults: JsonObject = field(default_factory=dict[str, Any])
    """For arguments that a call leaves out; not shown to clients."""
    context: Context | None = None
    of_arms: tuple[str, ...] = ()
    """Names of the constants of the arms of a race, which each arm gets when it starts."""

    @cached_property
    def reserved(self) -> frozenset[str]:
        """Names that the server sets, and a caller may not."""
        return frozenset((*self.constants, *((self.context.input_key,) if self.context else ()), *self.of_arms))

    def with_defaults(self, arguments: JsonObject) -> JsonObject:
        """Return the arguments with the defaults for those that are left out."""
        missing = {name: value for name, value in self.defaults.items() if name not in arguments}
        return {**arguments, **missing} if missing else arguments

    def workflow_input(self, arguments: JsonObject, caller: Caller, task_id: str, tool: str) -> JsonObject:
        """Return the workflow's input."""
        context = {} if self.context is None else {self.context.input_key: self.context.member(caller, task_id, tool)}
        return {**arguments, **self.constants, **context}


NOTHING_ADDED: Final = Additions()


class TaskSupport(Enum):
    """Whether a call of the tool may, must or cannot be a task."""

    OPTIONAL = "optional"
    REQUIRED = "required"
    FORBIDDEN = "forbidden"


class Confirmation(Struct, frozen=True, omit_defaults=True):
    """What a user is asked before the workflow begins."""

    key: str
    message: str
    """With {name} where the value of that argument belongs."""
    requested_schema: str
    """JSON text."""
    input_key: str | None = None
    """Where in the workflow's input the user's answers go; None: nowhere."""

    def elicitation(self, arguments: JsonObject) -> FormElicitation:
        """Ask about a call with these arguments."""
        # A model may have written the arguments to mislead: what is confirmed is what is shown.
        shown = {name: quoted(arguments[name]) for name in ARGUMENT_PATTERN.findall(self.message) if name in arguments}
        message = ARGUMENT_PATTERN.sub(lambda found: shown.get(found[1], "not given"), self.message)
        return FormElicitation(message[:LONGEST_QUESTION], self.requested_schema)


class Idempotency(Struct, frozen=True):
    """Which arguments make calls equal: an equal call within the window gets the first one's task."""

    arguments: tuple[str, ...]
    """Names of required arguments whose values are not nested."""
    window: timedelta
    """How long after a call began an equal one is its repetition."""


class Machine(Struct, frozen=True):
    """A state machine that a tool starts."""

    name: str
    """Its name or its ARN, also that of a version or an alias."""
    role: str = ""
    """ARN of the role that runs a state machine of another account or Region; empty: the functions' own."""


class Tool(Struct, frozen=True, dict=True, omit_defaults=True):
    """A state machine that clients may run, with all that they are told of it."""

    name: str
    title: str | None
    description: str
    plan: Plan
    """The runs of each of its tasks. In a compiled catalog also names of state machines, which `read_catalog` replaces
    by ARNs."""
    input_schema: str
    """JSON text, with the keys in the manifest's order."""
    output_schema: str | None
    task_support: TaskSupport
    ttl: timedelta
    """How long a task is kept, from its creation; a client may ask for longer."""
    poll_interval: timedelta
    """The first hint; it grows with the age of a task."""
    longest_poll_interval: timedelta
    annotations: JsonObject | None
    client_capabilities: JsonObject
    """What a client must declare to call the tool, in the shape in which it declares it."""
    confirmation: Confirmation | None = None
    shows_state: bool = True
    """Whether the caller may read the names of the workflow's states."""
    result_bucket: str | None = None
    """The bucket in S3 where its workflow leaves what is too large for an output."""
    result_prefix: str | None = None
    """What the keys of such objects begin with, with variables; None: the name of the task's execution."""
    keep_result: timedelta = NO_TIME
    """How long a task is kept after its end at least, whatever is left of its ttl."""
    causes: Causes = Causes.REDACTED
    """How much of the cause of a failure its callers get to read."""
    model_may_answer: bool = False
    """Whether a model may answer the workflow's questions (`task_answer`); never the confirmation before the work."""
    scopes: tuple[str, ...] = ()
    """What a caller's token must allow, beside what every call needs."""
    idempotency: Idempotency | None = None
    """Makes an idempotency key for calls whose client sends none; None: such calls are never repetitions."""
    additions: Additions = NOTHING_ADDED
    """What the workflow gets beside the arguments."""
    output_shape: str | None = None
    """JSON text of how its output becomes the result; None: as it is."""
    is_express: bool = False
    """Whether its state machine is of type EXPRESS: a call waits for the end, and never is a task."""
    retry: Retry | None = None
    """Which failures of its runs are retried; None: none."""
    groups: tuple[str, ...] = ()
    """Names by which the endpoint's URL can select it."""
    icons: tuple[JsonObject, ...] = ()
    """As MCP writes them."""
    extras: Mapping[str, JsonObject] = {}
    """What extras keep of its manifest, by their names, in its stored form."""

    def kept_by(self, name: str, kind: type[T]) -> T | None:
        """Return what an extra keeps of its manifest; None: nothing."""
        return value_of(self.extras[name], kind) if name in self.extras else None

    def lacks(self, extras: Collection[str]) -> list[str]:
        """Return the extras beside these that have a part in it: without them, it must not be served."""
        return sorted(self.extras.keys() - set(extras))

    @property
    def shown_title(self) -> str:
        """What people call it."""
        return self.title or (self.annotations or {}).get("title") or self.name

    @property
    def machines(self) -> tuple[Machine, ...]:
        """The state machines that its calls start: one, or those of a race in their order."""
        return tuple(Machine(run.state_machine_arn, run.role) for run in self.plan.runs)

    def with_machines(self, arn_of: Callable[[str], str]) -> "Tool":
        """Return the tool with the ARNs of its state machines in place of their names."""
        runs = tuple(replace(run, state_machine_arn=arn_of(run.state_machine_arn)) for run in self.plan.runs)
        return replace(self, plan=replace(self.plan, runs=runs))

    @cached_property
    def parameter_headers(self) -> tuple[ParameterHeader, ...]:
        """What a client repeats in headers."""
        return parameter_headers(as_object(load_json(self.input_schema)))

    @cached_property
    def defaults(self) -> Defaults | None:
        """The defaults of the input schema; None if it has none."""
        return Defaults(as_object(load_json(self.input_schema))) if '"default"' in self.input_schema else None


class Catalog:
    """The tools that clients may call, in the order of their names."""

    can_change: ClassVar[bool] = False
    """Whether tools come and go while this process runs."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = MappingProxyType({tool.name: tool for tool in sorted(tools, key=lambda tool: tool.name)})

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools by name."""
        return self._tools

    @property
    def in_order(self) -> tuple[Tool, ...]:
        """The tools as they are listed."""
        return tuple(self.tools.values())

    def find(self, name: str) -> Tool:
        """Return the tool of that name.

        Raises:
            UnknownTool: there is none.
        """
        tool = self.tools.get(name)
        if tool is None:
            raise UnknownTool(name)
        return tool

    def known(self, name: str) -> Tool | None:
        """Return the tool of that name as far as it is known without asking anew; None if it is not."""
        return self.tools.get(name)

    def compile_schemas(self) -> None:
        """Compile what arguments, outputs and answers are held against, where no request waits for it."""
        for tool in self.in_order:
            _ = tool.defaults
            asked = tool.confirmation.requested_schema if tool.confirmation else None
            for schema in (tool.input_schema, tool.output_schema, asked):
                if schema is not None:
                    compile_ahead(schema)


class CompiledTool(Struct, frozen=True, omit_defaults=True):
    """A tool as the catalog has it."""

    tool: Tool
    source: str
    """The file of its manifest, or the name of the parameter."""
    digest: str = ""
    """Names the text of a registered manifest, and the version that compiled it."""


class _Text(Struct):
    """What is in a compiled catalog, or in a part of one."""

    format: int
    tools: Raw


def catalog_text(tools: Iterable[CompiledTool], extras: Mapping[str, Sequence[Struct]] = MappingProxyType({})) -> str:
    """Return the text of a compiled catalog, or of a part of one; who reads the tools passes over what extras have."""
    of_extras = {name: part for name, part in extras.items() if part}
    return encode({"format": FORMAT, "tools": list(tools), **({"extras": of_extras} if of_extras else {})}).decode()


def compiled_in(text: str) -> tuple[CompiledTool, ...]:
    """Read the tools of a `catalog_text`.

    Raises:
        CatalogError: it has another format, which another version of Stepwire wrote.
    """
    try:
        catalog = decode(text, _Text)
        if catalog.format == FORMAT:
            return decode(catalog.tools, tuple[CompiledTool, ...])
    except DecodeError as error:
        raise CatalogError(f"{_NOT_OURS} ({error})") from None
    raise CatalogError(_NOT_OURS)


def read_catalog(compiled: str, state_machines: Mapping[str, str]) -> Catalog:
    """Read what `stepwire.manifests` compiled.

    Raises:
        CatalogError: another format, or a manifest that names an unknown state machine.
    """
    return Catalog(_found(one, state_machines) for one in compiled_in(compiled))


def _found(one: CompiledTool, state_machines: Mapping[str, str]) -> Tool:
    def arn_of(name: str) -> str:
        arn = state_machines.get(name, name)
        if not ARN_PATTERN.fullmatch(arn):
            known = ", ".join(sorted(state_machines)) or "none"
            raise CatalogError(
                f"{one.source}: state_machine: {name!r} is neither an ARN of a state machine nor a name in the "
                f"function's STATE_MACHINES (known: {known})"
            )
        return arn

    return one.tool.with_machines(arn_of)
